import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visibleText } from '../../src/web/api/visible-text.ts';

test('controls that would show text in another order are replaced, and nothing else', () => {
  assert.equal(
    visibleText('invoice\u202Eexe.fdp\u2066\u2069\u200F\u061C'),
    'invoice\uFFFDexe.fdp\uFFFD\uFFFD\uFFFD\uFFFD',
  );
  const plain = '{"name":"Zoë, שלום, 東京 👩‍👩‍👧"}\n';
  assert.equal(visibleText(plain), plain);
});
