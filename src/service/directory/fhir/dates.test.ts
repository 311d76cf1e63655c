import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bothRanges, parseDate, parseSince } from './dates.ts';

const at = (text: string): number => Date.parse(text) / 1000;
const day = [at('2026-11-22'), at('2026-11-23')] as const;

const cases: readonly (readonly [string, readonly (readonly [number, number])[] | undefined])[] = [
  ['2026-11-22', [day]],
  ['eq2026-11-22', [day]],
  [
    'ne2026-11-22',
    [
      [0, day[0]],
      [day[1], Infinity],
    ],
  ],
  ['gt2026-11-22', [[day[1], Infinity]]],
  ['sa2026-11-22', [[day[1], Infinity]]],
  ['ge2026-11-22', [[day[0], Infinity]]],
  ['lt2026-11-22', [[0, day[0]]]],
  ['eb2026-11-22', [[0, day[0]]]],
  ['le2026-11-22', [[0, day[1]]]],
  ['2026', [[at('2026-01-01'), at('2027-01-01')]]],
  ['2026-12', [[at('2026-12-01'), at('2027-01-01')]]],
  ['2026-11-22T10:30Z', [[at('2026-11-22T10:30:00Z'), at('2026-11-22T10:31:00Z')]]],
  ['2026-11-22T10:30', [[at('2026-11-22T10:30:00Z'), at('2026-11-22T10:31:00Z')]]],
  ['ge2026-11-22T10:30:05-05:00', [[at('2026-11-22T15:30:05Z'), Infinity]]],
  // As a query shows a plus sign that was not escaped.
  ['ge2026-11-22T10:30:05 01:00', [[at('2026-11-22T09:30:05Z'), Infinity]]],
  // Between two seconds there is nothing.
  ['2026-11-22T10:30:05.5Z', [[at('2026-11-22T10:30:06Z'), at('2026-11-22T10:30:06Z')]]],
  ['2026-11-22T10:30:05.000Z', [[at('2026-11-22T10:30:05Z'), at('2026-11-22T10:30:06Z')]]],
  ['gt2026-11-22T10:30:05.000Z', [[at('2026-11-22T10:30:06Z'), Infinity]]],
  ...[
    '',
    'gt',
    'ap2026',
    '2026-13',
    '2026-02-30',
    '2026-11-22T10',
    '2026-11-22T24:00Z',
    '2026-11-22T10:60Z',
    '26',
    '2026-1-1',
    '1969',
    '2026-11-22T10:00:00+15:00',
    'tomorrow',
  ].map((text) => [text, undefined] as const),
];

for (const [value, expected] of cases)
  test(`${value === '' ? 'nothing' : value} as a date`, () => assert.deepEqual(parseDate(value), expected));

test('ranges that must all hold are cut with one another', () => {
  assert.deepEqual(
    bothRanges(
      [
        [0, 10],
        [20, 30],
      ],
      [[5, 25]],
    ),
    [
      [5, 10],
      [20, 25],
    ],
  );
  assert.deepEqual(bothRanges([[0, 5]], [[5, 9]]), []);
});

test('since is an instant, and what came after it', () => {
  assert.deepEqual(parseSince('2026-11-22T10:30:05Z'), [at('2026-11-22T10:30:06Z'), Infinity]);
  assert.deepEqual(parseSince('2026-11-22T10:30:05.999Z'), [at('2026-11-22T10:30:06Z'), Infinity]);
  for (const text of ['2026-11-22', '2026-11-22T10:30:05', '2026-11-22T10:30Z', 'gt2026-11-22T10:30:05Z', ''])
    assert.equal(parseSince(text), undefined, text);
});
