import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDate, showDate } from '../../src/web/components/read-date.ts';

const now = new Date(2026, 10, 20, 15, 30);

test('a field of dates reads what people write, and shows it so that it is read again', () => {
  for (const [text, date] of [
    ['11/20/2026', '2026-11-20'],
    ['1/2/26', '2026-01-02'],
    ['11/20', '2026-11-20'],
    ['11/21', '2025-11-21'],
    ['Nov 3', '2026-11-03'],
    ['november 3, 2024', '2024-11-03'],
    ['Sept. 9 2026', '2026-09-09'],
    ['2028-02-29', '2028-02-29'],
    ['today', '2026-11-20'],
    ['Yesterday', '2026-11-19'],
    [' tomorrow ', '2026-11-21'],
  ] as const) {
    assert.equal(readDate(text, { now, withTime: false, isAhead: false }), date, text);
    assert.equal(readDate(showDate(date), { now, withTime: false, isAhead: false }), date);
  }
});

test('with a time it is midnight if none is written, and a day without a year may be the next one', () => {
  for (const [text, date] of [
    ['11/20', '2026-11-20T00:00'],
    ['11/19', '2027-11-19T00:00'],
    ['1/2 8am', '2027-01-02T08:00'],
    ['11/20/2026, 8:05 PM', '2026-11-20T20:05'],
    ['tomorrow 12 a.m.', '2026-11-21T00:00'],
    ['today 12 pm', '2026-11-20T12:00'],
    ['Nov 30, 14:30', '2026-11-30T14:30'],
    ['2099-01-02T03:04', '2099-01-02T03:04'],
    ['2099-01-02 03:04', '2099-01-02T03:04'],
  ] as const) {
    assert.equal(readDate(text, { now, withTime: true, isAhead: true }), date, text);
    assert.equal(readDate(showDate(date), { now, withTime: true, isAhead: true }), date);
  }
});

test('what is no date is none', () => {
  const wrong = [
    '2/30/2026',
    '13/1/2026',
    '20/11/2026',
    '2026-02-29',
    'soon',
    'Foo 3',
    '11',
    '8 am',
    '1/2/026',
  ];
  for (const text of [...wrong, '11/20 25:00', '11/20 13 pm', '11/20 8:60', '11/20 0am', '1/2/2026 3'])
    assert.equal(readDate(text, { now, withTime: true, isAhead: false }), undefined, text);
  assert.equal(readDate('11/20/2026, 8 am', { now, withTime: false, isAhead: false }), undefined);
  assert.equal(showDate(''), '');
  assert.equal(showDate('nonsense'), '');
});
