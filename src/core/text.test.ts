import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText, isLongerThan, readDecimal } from './text.ts';

test('case and marks do not count; letters that only look alike stay different', () => {
  for (const [one, other] of [
    ['É', 'e'],
    ['NÚÑEZ', 'nun\u0303ez'],
    ['İ', 'i'],
    ['ΟΔΥΣΣΕΥΣ', 'Οδυσσεύς'],
  ] as const)
    assert.equal(foldText(one), foldText(other));
  for (const [one, other] of [
    ['ß', 'ss'],
    ['ø', 'o'],
    ['ﬁ', 'fi'],
  ] as const)
    assert.notEqual(foldText(one), foldText(other));
});

test('the start of a text folds to the start of the folded text, wherever it is cut', () => {
  for (const text of ['ΟΔΥΣΣΕΥΣ ΑΣ', 'Σ.Σ', 'İSTANBUL', 'Ünal', 'ẞÅK', '가나', 'nun\u0303ez']) {
    const characters = [...text];
    for (let cut = 0; cut <= characters.length; cut++)
      assert.ok(
        foldText(text).startsWith(foldText(characters.slice(0, cut).join(''))),
        `${text} up to ${cut}`,
      );
  }
});

test('decimal digits are a number, other spellings of numbers are not', () => {
  for (const [text, value] of [
    ['0', 0],
    ['007', 7],
    ['-97.7431', -97.7431],
    ['+30.25', 30.25],
  ] as const)
    assert.equal(readDecimal(text), value);
  for (const text of [
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '\u00a01',
    '1e3',
    '0x10',
    '0b1',
    'Infinity',
    '-',
    '.5',
    '5.',
    '1,5',
    '１２',
    '٣',
  ])
    assert.ok(Number.isNaN(readDecimal(text)), JSON.stringify(text));
});

test('a character beyond the basic plane counts once, and half of one counts too', () => {
  for (const [text, most, expected] of [
    ['', 0, false],
    ['abc', 3, false],
    ['abcd', 3, true],
    ['𝔸𝔹ℂ', 3, false],
    ['𝔸𝔹ℂ𝔻', 3, true],
    ['a𝔸', 1, true],
    ['\ud835\ud835', 1, true],
    ['x'.repeat(7), 3, true],
  ] as const)
    assert.equal(isLongerThan(text, most), expected, `${text} ${most}`);
});
