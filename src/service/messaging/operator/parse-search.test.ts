import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSearch } from './parse-search.ts';

const now = new Date('2026-11-21T12:00:00Z');
const id = '2f0a6c1e-6d1b-4a53-9f0f-3b1f6f0a7c11';

const cases: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [id, [['message-id', id]]],
  [`urn:uuid:${id}`, [['message-id', `urn:uuid:${id}`]]],
  [`<${id}@direct.clinic.example>`, [['wire-id', `${id}@direct.clinic.example`]]],
  [`${id}@direct.clinic.example`, [['wire-id', `${id}@direct.clinic.example`]]],
  ['dr.b@direct.clinic.example', [['address', 'dr.b@direct.clinic.example']]],
  ['@Clinic.Example', [['domain', 'clinic.example']]],
  ['direct.clinic.example', [['domain', 'direct.clinic.example']]],
  ['<-1h', [['since', '2026-11-21T11:00:00.000Z']]],
  ['<30m', [['since', '2026-11-21T11:30:00.000Z']]],
  ['>2d', [['until', '2026-11-19T12:00:00.000Z']]],
  ['since:2h', [['since', '2026-11-21T10:00:00.000Z']]],
  ['since:2026-11-20T08:00:00-06:00', [['since', '2026-11-20T14:00:00.000Z']]],
  [
    '2026-11-20',
    [
      ['since', '2026-11-20T00:00:00.000Z'],
      ['until', '2026-11-21T00:00:00.000Z'],
    ],
  ],
  ['failed', [['state', 'failed']]],
  ['Failed', [['state', 'failed']]],
  ['untrusted', [['reason', 'untrusted']]],
  [
    'not trusted <30m',
    [
      ['since', '2026-11-21T11:30:00.000Z'],
      ['reason', 'untrusted'],
    ],
  ],
  ['no certificate', [['reason', 'no-certificate']]],
  ['encrypted connection', [['reason', 'tls-failed']]],
  [id.slice(0, 8), [['id-start', id.slice(0, 8)]]],
  [`${id.slice(0, 8).toUpperCase()}…`, [['id-start', id.slice(0, 8)]]],
  [`urn:uuid:${id.slice(0, 20)}`, [['id-start', id.slice(0, 20)]]],
  [
    'Ann-Lee failed',
    [
      ['state', 'failed'],
      ['address-start', 'Ann-Lee'],
    ],
  ],
  ['client:edge-1', [['client', 'edge-1']]],
  ['req-20261121-77', [['request-id', 'req-20261121-77']]],
  [
    'dr.b@direct.clinic.example failed <-2d',
    [
      ['address', 'dr.b@direct.clinic.example'],
      ['state', 'failed'],
      ['since', '2026-11-19T12:00:00.000Z'],
    ],
  ],
];

for (const [text, expected] of cases) {
  test(`reads ${text}`, () => {
    const { terms, unread } = parseSearch(text, now);
    assert.deepEqual(
      terms.map(({ kind, value }) => [kind, value]),
      expected,
    );
    assert.deepEqual(unread, []);
  });
}

test('names words that mean nothing, so that they do not widen a search', () => {
  assert.deepEqual(parseSearch('smith state:lost @nodot', now).unread, ['smith', 'state:lost', '@nodot']);
  // Words of one reason that do not stand together in it.
  assert.deepEqual(parseSearch('no mail server', now), { terms: [], unread: ['no', 'mail', 'server'] });
  // A time without a zone, and a day that there is not.
  for (const text of ['since:2026-11-20T08:00:00', 'until:2026-02-30T08:00:00Z'])
    assert.deepEqual(parseSearch(text, now), { terms: [], unread: [text] });
  assert.deepEqual(parseSearch('', now), { terms: [], unread: [] });
});

// The clocks of New York go back on November 1, 2026.
for (const [text, from, to] of [
  ['today', '2026-11-21T05:00', '2026-11-22T05:00'],
  ['yesterday', '2026-11-20T05:00', '2026-11-21T05:00'],
  ['11/20', '2026-11-20T05:00', '2026-11-21T05:00'],
  ['12/24', '2025-12-24T05:00', '2025-12-25T05:00'],
  ['11/1/26', '2026-11-01T04:00', '2026-11-02T05:00'],
  ['11/01/2026', '2026-11-01T04:00', '2026-11-02T05:00'],
  ['2026-07-04', '2026-07-04T04:00', '2026-07-05T04:00'],
] as const)
  test(`reads ${text} in the zone of whoever asks`, () => {
    const { terms } = parseSearch(text, now, 'America/New_York');
    assert.deepEqual(
      terms.map(({ kind, value }) => [kind, value]),
      [
        ['since', `${from}:00.000Z`],
        ['until', `${to}:00.000Z`],
      ],
    );
  });

test('reads no day that does not exist, and bounds by a whole day', () => {
  assert.deepEqual(parseSearch('2/30 13/1', now).unread, ['2/30', '13/1']);
  assert.deepEqual(
    parseSearch('until:11/20 since:yesterday', now, 'America/New_York').terms.map(({ value }) => value),
    ['2026-11-21T05:00:00.000Z', '2026-11-20T05:00:00.000Z'],
  );
});
