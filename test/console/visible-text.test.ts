import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseVisible, visibleText } from '../../src/web/api/visible-text.ts';

test('controls that would show text in another order are replaced, and nothing else', () => {
  assert.equal(
    visibleText('invoice\u202Eexe.fdp\u2066\u2069\u200F\u061C'),
    'invoice\uFFFDexe.fdp\uFFFD\uFFFD\uFFFD\uFFFD',
  );
  const plain = '{"name":"Zoë, שלום, 東京 👩‍👩‍👧"}\n';
  assert.equal(visibleText(plain), plain);
});

test('characters that show as nothing are replaced', () => {
  assert.equal(
    visibleText('ann\u200B@a\u2060.example\uFEFF\0\x1B[2K\x85'),
    'ann\uFFFD@a\uFFFD.example\uFFFD\uFFFD\uFFFD[2K\uFFFD',
  );
  assert.equal(visibleText('lines\r\nand\ttabs'), 'lines\r\nand\ttabs');
});

test('half of a surrogate pair does not reach a URL', () => {
  assert.equal(encodeURIComponent(visibleText('\uD800x\uDC00')), encodeURIComponent('\uFFFDx\uFFFD'));
});

test('escaped characters of JSON are replaced like others', () => {
  const escaped = String.raw`{"a":["x\u0000\u202e\ud800",1,null],"b":"\\u202e plain"}`;
  assert.deepEqual(parseVisible(escaped), {
    a: ['x\uFFFD\uFFFD\uFFFD', 1, null],
    b: String.raw`\u202e plain`,
  });
  assert.deepEqual(parseVisible('{"a":"x\u202E"}'), { a: 'x\uFFFD' });
});
