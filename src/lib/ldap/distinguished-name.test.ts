import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { entryName, findMailOfName, nameKey } from './distinguished-name.ts';

test('RFC 4514: a mail value with any characters survives in the name of its entry', () => {
  assert.equal(entryName('bob@direct.example.org', 'o=openhisp'), 'mail=bob@direct.example.org,o=openhisp');
  const character = fc.constantFrom(...Array.from('ab+,;<>"\\= #\'@.'));
  fc.assert(
    fc.property(fc.string({ unit: character, minLength: 1, maxLength: 12 }), (value) => {
      const mail = value.trim();
      fc.pre(mail !== '');
      assert.equal(findMailOfName(entryName(mail, 'o=openhisp'), 'o=openhisp'), mail);
    }),
  );
});

test('names compare without case and blanks', () => {
  assert.equal(nameKey(' OU=Dcdt , O = X'), 'ou=dcdt,o=x');
  assert.equal(findMailOfName('MAIL=Bob@X.org, O=openhisp', 'o=openhisp'), 'bob@x.org');
});

test('names elsewhere, deeper, or of another attribute are not entries', () => {
  for (const dn of [
    'mail=a@b.org,o=other',
    'mail=a@b.org',
    'cn=a,o=openhisp',
    'mail=a,mail=b,o=openhisp',
    'o=openhisp',
  ]) {
    assert.equal(findMailOfName(dn, 'o=openhisp'), undefined, dn);
  }
});
