import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { readBasicCredentials } from './basic-credentials.ts';
import { readBearerToken } from './create-oauth.ts';
import { OauthError } from './errors.ts';
import { chooseScopes } from './scopes.ts';
import { readTokenForm } from './token-endpoint.ts';

const header = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const wellFormed = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
const identifier = wellFormed.filter((text) => !text.includes(':'));

/** Runs `work` and lets only refusals of our own through. */
function throwsCodedErrorsOnly(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof OauthError, String(error));
  }
}

test('credentials without a colon, or without an id, are none', () => {
  for (const text of ['secret', ':secret', '']) assert.deepEqual(readBasicCredentials(header(text)), []);
});

test('OAUTH-02: any id and secret are read from plain base64 of id:secret', () => {
  fc.assert(
    fc.property(identifier, wellFormed, (clientId, clientSecret) => {
      const readings = readBasicCredentials(header(`${clientId}:${clientSecret}`));
      assert.deepEqual(readings.at(-1), { clientId, clientSecret });
    }),
  );
});

test('OAUTH-02: any id and secret are read first from their form encoding', () => {
  const encode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
  fc.assert(
    fc.property(wellFormed, wellFormed, (clientId, clientSecret) => {
      const readings = readBasicCredentials(header(`${encode(clientId)}:${encode(clientSecret)}`));
      assert.deepEqual(readings[0], { clientId, clientSecret });
    }),
  );
});

test('no header, form, token or scope makes the parsers fail in any but their own way', () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), bytes, (text, body) => {
      assert.ok(readBasicCredentials(text).length <= 2);
      assert.ok(readBasicCredentials(`Basic ${text}`).length <= 2);
      assert.ok(readBasicCredentials(`Basic ${Buffer.from(body).toString('base64')}`).length <= 2);
      throwsCodedErrorsOnly(() => readTokenForm('application/x-www-form-urlencoded', body));
      throwsCodedErrorsOnly(() => readTokenForm(text, body));
      throwsCodedErrorsOnly(() => readBearerToken(text));
      throwsCodedErrorsOnly(() => readBearerToken(`Bearer ${text}`));
      throwsCodedErrorsOnly(() => chooseScopes(text, ['messaging.api']));
    }),
  );
});

test('a scope that is granted was always allowed', () => {
  const allowed = ['messaging.api', 'provider-directory'];
  const words = fc.array(fc.constantFrom(...allowed, 'other', '', 'MESSAGING.API'), { maxLength: 4 });
  fc.assert(
    fc.property(words, (names) => {
      throwsCodedErrorsOnly(() => {
        const granted = chooseScopes(names.join(' '), allowed);
        assert.ok(granted.length > 0 && granted.every((name) => allowed.includes(name)));
      });
    }),
  );
});
