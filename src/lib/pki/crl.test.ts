import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { CodedError } from '../../core/index.ts';
import { der } from '../asn1/index.ts';
import { createAuthority, createCrl, createKeyPair, readCrl, verifyCrl, type Issuer } from './index.ts';
import { formatPem } from './pem.ts';
import { findCrlWeakness } from './verify-crl.ts';

const thisUpdate = new Date('2026-06-01T00:00:00Z');
const nextUpdate = new Date('2026-07-01T00:00:00Z');

describe('readCrl', () => {
  let issuer: Issuer;
  before(async () => {
    const keys = await createKeyPair({ curve: 'P-256' });
    const certificate = createAuthority({
      subject: [['CN', 'ca']],
      ...keys,
      notBefore: new Date('2026-01-01'),
      notAfter: new Date('2036-01-01'),
    });
    issuer = { certificate, privateKey: keys.privateKey };
  });

  test('RFC 5280 §5.1 entries with and without reason, times before and after 2050', async () => {
    const revokedAt = new Date('2051-01-01T00:00:00Z');
    const revoked = [
      { serialNumber: Buffer.of(0x80), revokedAt },
      { serialNumber: Buffer.from('0102', 'hex'), revokedAt: thisUpdate, reason: 'superseded' as const },
    ];
    const written = createCrl({ issuer, thisUpdate, nextUpdate, revoked });
    for (const bytes of [written, Buffer.from(`\ufeffCRL:\n${formatPem('X509 CRL', written)}`)]) {
      const crl = readCrl(bytes);
      assert.equal(crl.entryCount, 2);
      assert.deepEqual(crl.find(Buffer.of(0, 0x80)), { revokedAt });
      assert.deepEqual(crl.find(Buffer.of(1, 2)), { revokedAt: thisUpdate, reason: 'superseded' });
      assert.equal(crl.find(Buffer.of(1)), undefined);
      assert.equal(await verifyCrl(crl, { issuer: issuer.certificate, candidates: [] }), issuer.certificate);
    }
    for (const none of [
      formatPem('CERTIFICATE', written),
      '-----BEGIN X509 CRL-----\n!\n-----END X509 CRL-----',
      formatPem('X509 CRL', Buffer.alloc(0)).repeat(5_000),
    ])
      assert.throws(() => readCrl(Buffer.from(none)), { code: 'PKI_CRL_MALFORMED' });
  });

  test('TRUST-06 a serial number with a zero too many or too few revokes', () => {
    const algorithm = der.sequence(der.oid('1.2.840.10045.4.3.2'));
    const entries = ['00000102', '000080', '00'].map((hex) =>
      der.sequence(
        Buffer.from(`02${(hex.length / 2).toString(16).padStart(2, '0')}${hex}`, 'hex'),
        der.time(thisUpdate),
      ),
    );
    const times = [der.time(thisUpdate), der.time(nextUpdate)];
    const name = issuer.certificate.subjectDer;
    const body = der.sequence(der.integer(1), algorithm, name, ...times, der.sequence(...entries));
    const crl = readCrl(der.sequence(body, algorithm, der.bitString(Buffer.of(0))));
    for (const serial of ['0102', '0080', '80', '00'])
      assert.ok(crl.find(Buffer.from(serial, 'hex')), serial);
    for (const serial of ['02', 'ff80', '01']) assert.equal(crl.find(Buffer.from(serial, 'hex')), undefined);
  });

  test('TRUST-06 a list of 50,000 entries finds each of them', () => {
    const revoked = Array.from({ length: 50_000 }, (_, index) => ({
      serialNumber: Buffer.from((index + 2 ** 32).toString(16).padStart(10, '0'), 'hex'),
      revokedAt: thisUpdate,
    }));
    const crl = readCrl(createCrl({ issuer, thisUpdate, nextUpdate, revoked }));
    assert.equal(crl.entryCount, 50_000);
    assert.ok(crl.find(Buffer.from('0100000000', 'hex')) && crl.find(Buffer.from('010000c34f', 'hex')));
    assert.equal(crl.find(Buffer.from('010000c350', 'hex')), undefined);
  });

  test('SEC-11 serial numbers that were made to share one place of a table are read in the time of others', () => {
    // Of FNV-1a from its usual beginning, mixed as MurmurHash3 ends: what a list of 2000 was found by.
    const placeOf = (serial: Buffer): number => {
      let hash = 0x811c9dc5;
      for (const byte of serial) hash = Math.imul(hash ^ byte, 0x01000193);
      hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
      hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
      return (hash ^ (hash >>> 16)) & 4095;
    };
    const serials: Buffer[] = [];
    for (let number = 2 ** 40; serials.length < 2000; number++) {
      const serial = Buffer.from(number.toString(16).padStart(12, '0'), 'hex');
      if (placeOf(serial) === 0 || serials.length >= 400) serials.push(serial);
    }
    const revoked = serials.map((serialNumber) => ({ serialNumber, revokedAt: thisUpdate }));
    assert.equal(readCrl(createCrl({ issuer, thisUpdate, nextUpdate, revoked })).entryCount, 2000);
  });

  test('TRUST-07 a list after its nextUpdate, or without one, is stale for every query', () => {
    const weaknessAt = (list: Buffer, at: Date) =>
      findCrlWeakness(readCrl(list), issuer.certificate, { at, graceMs: 1_000 })?.code;
    const list = createCrl({ issuer, thisUpdate, nextUpdate, revoked: [] });
    const endless = createCrl({ issuer, thisUpdate, revoked: [] });
    assert.equal(weaknessAt(list, new Date(nextUpdate.getTime() + 1_000)), undefined);
    assert.equal(weaknessAt(list, new Date(nextUpdate.getTime() + 1_001)), 'PKI_CRL_STALE');
    assert.equal(weaknessAt(endless, thisUpdate), 'PKI_CRL_STALE');
    assert.equal(weaknessAt(list, new Date(Number.NaN)), 'PKI_CRL_NOT_YET_VALID');
  });

  test('SEC-11 a list larger than any real one', () => {
    assert.throws(
      () => readCrl(Buffer.alloc(33 * 1024 * 1024)),
      (error) => error instanceof CodedError && error.code === 'PKI_TOO_LARGE',
    );
  });

  test('SEC-11 any bytes give a list or a coded refusal, and never a valid list', async () => {
    const revoked = [{ serialNumber: Buffer.of(1), revokedAt: thisUpdate, reason: 'keyCompromise' as const }];
    const seed = createCrl({ issuer, thisUpdate, nextUpdate, revoked });
    await fc.assert(
      fc.asyncProperty(
        fc.nat(seed.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.nat(seed.length),
        async (at, change, cut) => {
          const bytes = Buffer.from(seed);
          bytes[at] = (bytes[at] ?? 0) ^ change;
          for (const candidate of [bytes, bytes.subarray(0, cut)]) {
            await assert.rejects(
              async () => {
                const crl = readCrl(candidate);
                crl.find(Buffer.of(1));
                await verifyCrl(crl, { issuer: issuer.certificate, candidates: [] });
              },
              (error) => error instanceof CodedError,
            );
          }
        },
      ),
      { numRuns: 1500 },
    );
  });
});
