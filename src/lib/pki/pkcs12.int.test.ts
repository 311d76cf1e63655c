import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CodedError } from '../../core/index.ts';
import {
  createAuthority,
  createKeyPair,
  formatPem,
  issueDirectCertificate,
  PkiError,
  readPkcs12,
  type Certificate,
  type KeyPair,
} from './index.ts';

function hasOpenssl(): boolean {
  try {
    return execFileSync('openssl', ['version']).toString().startsWith('OpenSSL 3');
  } catch {
    return false;
  }
}

describe('readPkcs12', { skip: hasOpenssl() ? false : 'needs OpenSSL 3' }, () => {
  let folder: string;
  let keys: KeyPair;
  let ca: Certificate;
  let leaf: Certificate;

  before(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'openhisp-p12-'));
    const caKeys = await createKeyPair({ curve: 'P-256' });
    keys = await createKeyPair();
    const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2036-01-01') };
    ca = createAuthority({ subject: [['CN', 'ca']], ...caKeys, ...validity });
    leaf = issueDirectCertificate({
      boundTo: { domain: 'direct.alpha.example' },
      publicKey: keys.publicKey,
      issuer: { certificate: ca, privateKey: caKeys.privateKey },
      ...validity,
    });
    writeFileSync(path.join(folder, 'key.pem'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(path.join(folder, 'leaf.pem'), formatPem('CERTIFICATE', leaf.der));
    writeFileSync(path.join(folder, 'ca.pem'), formatPem('CERTIFICATE', ca.der));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function makeFile(password: string, ...options: string[]): Buffer {
    const args = [
      'pkcs12',
      '-export',
      '-inkey',
      'key.pem',
      '-in',
      'leaf.pem',
      '-certfile',
      'ca.pem',
      '-out',
      'out.p12',
      '-passout',
      `pass:${password}`,
      ...options,
    ];
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
    return readFileSync(path.join(folder, 'out.p12'));
  }

  const refusedWith = (code: string, work: () => unknown): void =>
    assert.throws(work, (error) => error instanceof PkiError && error.code === code, code);

  test('PKCS#12: reads files of OpenSSL 3: the key with its certificate, and the CA', () => {
    for (const [password, ...options] of [
      ['secret'],
      ['pässwörd'],
      [''],
      ['x', '-keypbe', 'aes-128-cbc', '-certpbe', 'aes-192-cbc', '-macalg', 'sha512'],
      ['x', '-certpbe', 'NONE'],
    ] as const) {
      const file = readPkcs12(makeFile(password, ...options), password);
      assert.deepEqual(
        file.keys.map(({ certificate }) => certificate.fingerprint),
        [leaf.fingerprint],
        options.join(' '),
      );
      assert.equal(file.keys[0]?.privateKey.equals(keys.privateKey), true);
      assert.deepEqual(
        file.certificates.map(({ fingerprint }) => fingerprint),
        [ca.fingerprint],
      );
    }
  });

  test('a wrong password: PKI_PKCS12_PASSWORD', () =>
    refusedWith('PKI_PKCS12_PASSWORD', () => readPkcs12(makeFile('secret'), 'other')));

  test('contents changed by one bit are refused', () => {
    const bytes = makeFile('secret', '-iter', '1');
    for (let at = 30; at < bytes.length; at += 97) {
      const altered = Buffer.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ 1;
      assert.throws(
        () => readPkcs12(altered, 'secret'),
        (error) => error instanceof CodedError,
        `byte ${at}`,
      );
    }
  });

  test('older encryption, an older check and none at all: PKI_PKCS12_UNSUPPORTED', () => {
    for (const options of [['-legacy'], ['-macalg', 'sha1'], ['-nomac'], ['-keypbe', 'PBE-SHA1-3DES']]) {
      refusedWith('PKI_PKCS12_UNSUPPORTED', () => readPkcs12(makeFile('secret', ...options), 'secret'));
    }
  });

  test('not a PKCS#12 file: PKI_PKCS12_MALFORMED', () => {
    for (const bytes of [new Uint8Array(), Buffer.from('text'), leaf.der])
      refusedWith('PKI_PKCS12_MALFORMED', () => readPkcs12(bytes, ''));
  });
});
