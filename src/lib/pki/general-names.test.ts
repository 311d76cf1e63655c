import assert from 'node:assert/strict';
import { test } from 'node:test';
import { der, readAsn1 } from '../asn1/index.ts';
import { findPlainText } from './general-names.ts';

const name = (isConstructed: boolean, content: Uint8Array) =>
  readAsn1(der.implicit(2, isConstructed, content));

test('the text of a name is read from the primitive encoding with a context tag only', () => {
  const text = Buffer.from('direct.example.org');
  assert.equal(findPlainText(name(false, text)), 'direct.example.org');
  // An IA5String inside a constructed name, which BER readers would join into one text.
  const piece = Buffer.concat([Buffer.from([0x16, text.length]), text]);
  assert.equal(findPlainText(name(true, piece)), undefined);
  // An element whose tag and length are printable characters, too: 'A' and '-' for 45 octets.
  assert.equal(findPlainText(name(true, Buffer.from(`A-${'a'.repeat(45)}`))), undefined);
  assert.equal(findPlainText(readAsn1(piece)), undefined);
});

test('a name with NUL, blanks or 8-bit characters has no text', () => {
  for (const text of ['a\0b', 'a b', 'ä', ''])
    assert.equal(findPlainText(name(false, Buffer.from(text, 'latin1'))), undefined, JSON.stringify(text));
});
