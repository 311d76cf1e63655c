import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { parseDirectAddress, type DirectAddress } from '../values/index.ts';
import { createCertificate, createKeyPair, isBoundTo, type KeyPair } from './index.ts';

describe('isBoundTo', () => {
  let keys: KeyPair;
  before(async () => {
    keys = await createKeyPair({ curve: 'P-256' });
  });
  const bindingOf = (address: string, rfc822Names: readonly string[], dnsNames: readonly string[] = []) => {
    const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2036-01-01') };
    const certificate = createCertificate({
      subject: [['CN', 'x']],
      ...keys,
      ...validity,
      rfc822Names,
      dnsNames,
    });
    return isBoundTo(certificate, address as DirectAddress);
  };

  test('AS-10 the whole address, or the domain', () => {
    assert.equal(
      bindingOf('a@direct.alpha.example', ['a@direct.alpha.example'], ['direct.alpha.example']),
      'address',
    );
    assert.equal(
      bindingOf('b@direct.alpha.example', ['a@direct.alpha.example'], ['direct.alpha.example']),
      'domain',
    );
    assert.equal(
      bindingOf('b@direct.alpha.example', ['a@direct.alpha.example'], ['alpha.example']),
      undefined,
    );
  });

  test('AS-02 the local part too is compared without case', () => {
    assert.equal(
      bindingOf(parseDirectAddress('Bob.Smith@Direct.Alpha.example'), ['bob.smith@DIRECT.alpha.example']),
      'address',
    );
  });

  test('AS-10 letters outside ASCII never fold into ASCII ones', () => {
    // The Kelvin sign becomes k in lower case.
    assert.equal(bindingOf('bo\u212a@direct.alpha.example', ['bok@direct.alpha.example']), undefined);
    assert.equal(bindingOf('a@\u212a.example', [], ['k.example']), undefined);
  });

  test('AS-10 a quoted local part is its own name, not the unquoted one', () => {
    assert.equal(bindingOf('"bob"@direct.alpha.example', ['bob@direct.alpha.example']), undefined);
  });
});
