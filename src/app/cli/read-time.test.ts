import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readEnd, readFuture, readTime } from './read-time.ts';

const zoneBefore = process.env['TZ'];
after(() => {
  if (zoneBefore === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zoneBefore;
});

test('a date and a time without a zone are of the same zone, that of the machine, which is named', () => {
  process.env['TZ'] = 'America/Chicago';
  for (const [text, expected] of [
    ['2026-11-21', '2026-11-21T06:00:00.000Z'],
    ['2026-11-21T08:00', '2026-11-21T14:00:00.000Z'],
    ['2026-11-21 08:00:30', '2026-11-21T14:00:30.000Z'],
    ['2026-07-01', '2026-07-01T05:00:00.000Z'],
    ['2026-11-21T08:00Z', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T08:00:00.250Z', '2026-11-21T08:00:00.250Z'],
    ['2026-11-21 08:00 UTC', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T08:00+0530', '2026-11-21T02:30:00.000Z'],
    ['2026-11-21T08:00-05:00', '2026-11-21T13:00:00.000Z'],
  ] as const)
    assert.equal(readTime(text).toISOString(), expected, text);
  for (const text of ['2026-02-30', '2026-11-21T25:00', '2026-11-21T08:00+99:00', '11/21/2026', '7w', ''])
    assert.throws(() => readTime(text), /\(in America\/Chicago\)/, text);
});

test('a beginning or an end is in the same forms, and how long from now', () => {
  process.env['TZ'] = 'America/Chicago';
  assert.equal(readFuture('2026-02-20').toISOString(), '2026-02-20T06:00:00.000Z');
  assert.ok(Math.abs(readEnd('7d').getTime() - Date.now() - 7 * 86_400_000) < 60_000);
  for (const text of ['2026-02-30', '2020-01-01', '7w', 'tomorrow'])
    assert.throws(() => readEnd(text), /\(in America\/Chicago\), .*, or in 30m, 12h, 7d\./, text);
});
