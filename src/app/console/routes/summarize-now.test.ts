import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summarizeNow, type Situation } from './summarize-now.ts';

const now = new Date('2026-03-01T12:00:00Z');
const calm: Situation = { waiting: 0, failed: 0, stuck: undefined, tiles: [], now };

test('says so if nothing is wrong', () => {
  assert.equal(summarizeNow(calm), 'No problems; nothing is waiting.');
  const tiles = [{ id: 'keys', level: 'ok', text: 'All keys are valid.' }] as const;
  assert.equal(summarizeNow({ ...calm, tiles }), 'No problems; nothing is waiting.');
});

test('says what waits, where and why', () => {
  assert.equal(summarizeNow({ ...calm, waiting: 1 }), '1 message is waiting.');
  const stuck = {
    domain: 'direct.down.example',
    oldestAt: new Date('2026-03-01T11:48:00Z'),
    reason: 'unreachable',
  } as const;
  assert.equal(
    summarizeNow({ ...calm, waiting: 3, stuck }),
    "3 messages are waiting; mail to direct.down.example has waited for 12 min: the recipient's mail server cannot be reached.",
  );
  assert.match(
    summarizeNow({ ...calm, stuck: { ...stuck, reason: 'smtp-deferred' } }),
    /: the recipient's mail server asked to try again later\.$/,
  );
  const { reason: _reason, ...unknown } = stuck;
  assert.equal(
    summarizeNow({ ...calm, stuck: unknown }),
    'Mail to direct.down.example has waited for 12 min.',
  );
});

test('of mail whose first attempt has just failed it says no length', () => {
  const stuck = { domain: 'direct.down.example', oldestAt: now, reason: 'unreachable' } as const;
  assert.match(
    summarizeNow({ ...calm, waiting: 1, stuck }),
    /^1 message is waiting; mail to direct\.down\.example is tried again: the recipient/,
  );
});

test('keeps the failures next to other problems', () => {
  assert.equal(
    summarizeNow({ ...calm, failed: 1 }),
    'Nothing is waiting; 1 recipient failed within 24 hours.',
  );
  const tiles = [
    { id: 'failures', level: 'warning', text: 'The certificate is expired.' },
    { id: 'inbound', level: 'failed', text: '1 inbound message could not be processed.' },
    { id: 'directory', level: 'warning', text: 'The oldest source was loaded 60 days ago.' },
  ] as const;
  assert.equal(
    summarizeNow({ ...calm, failed: 11, tiles }),
    '11 recipients failed within 24 hours; 1 inbound message could not be processed; the oldest source was loaded 60 days ago.',
  );
});
