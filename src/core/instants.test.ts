import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInstant } from './instants.ts';

test('a time is read with its zone, and only if there is such a day and such a time', () => {
  for (const [text, expected] of [
    ['2026-12-20T08:00:00Z', '2026-12-20T08:00:00.000Z'],
    ['2026-12-20t08:00:00.25z', '2026-12-20T08:00:00.250Z'],
    ['2026-12-20 08:00:00-06:00', '2026-12-20T14:00:00.000Z'],
    ['2028-02-29T23:30:00-01:00', '2028-03-01T00:30:00.000Z'],
    ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00.000Z'],
    ...[
      '2026-02-30T08:00:00Z',
      '2026-13-01T08:00:00Z',
      '2026-12-20T24:00:00Z',
      '2026-12-20T08:00:61Z',
      '2026-12-20T08:00:00+24:00',
      '2026-12-20T08:00:00+05',
      '2026-12-20T08:00:00',
      '2026-12-20T08:00Z',
      '2026-12-20',
      ' 2026-12-20T08:00:00Z',
      'Monday',
    ].map((bad) => [bad, undefined] as const),
  ] as const)
    assert.equal(readInstant(text)?.toISOString(), expected, text);
});
