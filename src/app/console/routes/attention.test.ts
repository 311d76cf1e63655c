import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listAttention, type Situation } from './attention.ts';

const now = new Date('2026-06-03T12:00:00Z');
const before = (minutes: number): Date => new Date(now.getTime() - minutes * 60_000);
const quiet: Situation = {
  now,
  waiting: [],
  holds: [],
  deadLetters: 0,
  open: { count: 0, oldestSeconds: 0 },
  hooks: [],
  keys: [],
  bundles: [],
  sources: [],
  nearLimits: [],
  nearQuotas: [],
  degraded: [],
};

const hold = {
  domain: 'held.example',
  reason: 'their maintenance',
  author: 'operator:ann',
  since: before(60),
} as Situation['holds'][number];

function waitsFor(domain: string, minutes: number, reason?: 'unreachable'): Situation['waiting'][number] {
  return {
    domain,
    messages: 2,
    reports: 0,
    running: 0,
    oldestAt: before(minutes),
    attempts: 1,
    reason,
    lastError: '',
    nextAttemptAt: undefined,
  } as Situation['waiting'][number];
}

const source = (schedule: object): Situation['sources'][number] => ({
  name: 'nppes',
  exportRight: 'none' as never,
  active: { recordCount: 12_400 } as never,
  schedule: { path: '/data/nppes.zip', everyMs: 86_400_000, ...schedule },
});

describe('what needs attention', () => {
  it('is nothing while nothing does: mail that waits for its first attempt, or for the second for seconds', () => {
    assert.deepEqual(
      listAttention({
        ...quiet,
        waiting: [waitsFor('a.example', 900), waitsFor('b.example', 0.5, 'unreachable')],
        open: { count: 3, oldestSeconds: 3600 },
      }),
      [],
    );
  });

  it('begins with what is most serious, and in that with what is oldest; each line has a meaning and a link', () => {
    const list = listAttention({
      ...quiet,
      waiting: [
        waitsFor('a.example', 30, 'unreachable'),
        waitsFor('b.example', 90, 'unreachable'),
        waitsFor('held.example', 50, 'unreachable'),
      ],
      holds: [hold],
      open: { count: 1, oldestSeconds: 200_000 },
      hooks: [{ id: 'h', clientId: 'c', failingSince: before(5), disabledReason: '', deadLetterCount: 1 }],
      sources: [source({ failure: 'No file' })],
      nearLimits: [{ organizationId: 'o', name: 'Clinic', limit: 'addresses', used: 9, allowed: 10 }],
      nearQuotas: [{ clientId: 'c', name: 'EHR', used: 100_000, allowed: 100_000 }],
      degraded: [{ part: 'disk', detail: 'The disk is full.', isOutage: true, link: '/' }],
    });
    assert.deepEqual(
      list.map(({ level, link }) => [level, link]),
      [
        ['failed', '/webhooks/h'],
        ['failed', '/'],
        ['failed', '/clients/c'],
        ['warning', '/inbound?state=unacknowledged'],
        ['warning', '/queue/b.example'],
        ['warning', '/queue/held.example'],
        ['warning', '/queue/a.example'],
        ['warning', '/directory/sources'],
        ['warning', '/usage'],
      ],
    );
    assert.ok(list.every(({ title, text }) => title !== '' && text !== ''));
    assert.equal(list.find(({ link }) => link === '/queue/b.example')?.since, before(90).toISOString());
  });

  it('tells since when the oldest dead letter waits', () => {
    const [line] = listAttention({ ...quiet, deadLetters: 2, oldestDeadLetterAt: before(70) });
    assert.equal(line?.since, before(70).toISOString());
  });

  it('tells how old a domain without a key is', () => {
    const missing = { owner: 'a.example', problem: 'missing', uses: ['signing'], keyPair: '' } as const;
    const warnings = [{ ...missing, notAfter: undefined, addedAt: before(300) }];
    const keys = [{ domain: 'a.example', isInUse: true, daysLeft: undefined, warnings }];
    const [line] = listAttention({ ...quiet, keys });
    assert.deepEqual([line?.level, line?.since], ['failed', before(300).toISOString()]);
    assert.match(line?.text ?? '', /Create or install a key\.$/);
  });

  it('tells since when a scheduled load fails, and of one that nobody has made for hours', () => {
    const lineOf = (schedule: object) => listAttention({ ...quiet, sources: [source(schedule)] })[0];
    const failing = lineOf({ failure: 'No file', failedSince: before(90).toISOString() });
    assert.deepEqual(
      [failing?.title, failing?.text, failing?.since],
      [
        'The scheduled load of nppes failed',
        'No file. The directory serves the 12,400 records that were loaded before.',
        before(90).toISOString(),
      ],
    );
    const dayMinutes = 24 * 60;
    assert.equal(lineOf({ checkedAt: before(dayMinutes + 359).toISOString() }), undefined);
    assert.equal(lineOf({}), undefined, 'it was set just now, perhaps');
    const late = lineOf({ checkedAt: before(dayMinutes + 360).toISOString() });
    assert.equal(late?.title, 'The scheduled load of nppes is overdue');
    assert.equal(late?.since, before(360).toISOString());
  });

  it('counts what a client was given, with its limit', () => {
    const near = { clientId: 'c', name: 'EHR', used: 80_000, allowed: 100_000 };
    const [line] = listAttention({ ...quiet, nearQuotas: [near] });
    assert.equal(line?.title, 'EHR: 80,000 of 100,000 directory records of today');
    assert.match(
      line?.text ?? '',
      /refused until midnight \(UTC\) once it is reached\. Ask whoever runs the client/,
    );
  });

  it('has one line for all but five of a kind', () => {
    const many = Array.from({ length: 9 }, (_, at) => waitsFor(`d${at}.example`, 10, 'unreachable'));
    const list = listAttention({ ...quiet, waiting: many });
    assert.equal(list.length, 6);
    assert.match(list.at(-1)?.title ?? '', /4 more destinations/);
  });
});
