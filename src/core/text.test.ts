import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText } from './text.ts';

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
