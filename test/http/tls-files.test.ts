import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createAuthority, createKeyPair, formatPem } from '../../src/lib/pki/index.ts';
import { PlatformError, readTlsFiles, useConfiguredFile } from '../../src/platform/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-tls-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
const at = (name: string): string => path.join(folder, name);

before(async () => {
  for (const name of ['one', 'two']) {
    const keys = await createKeyPair({ curve: 'P-256' });
    const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2046-01-01') };
    const { der } = createAuthority({ subject: [['CN', name]], ...keys, ...validity });
    writeFileSync(at(`${name}.crt`), formatPem('CERTIFICATE', der));
    writeFileSync(at(`${name}.key`), keys.privateKey.export({ format: 'pem', type: 'pkcs8' }));
  }
  writeFileSync(at('noise.pem'), 'not a key');
});

const names = (setting: string, text: RegExp) => (error: unknown) =>
  error instanceof PlatformError &&
  error.code === 'PLATFORM_CONFIG_INVALID' &&
  error.problems[0]?.field === setting &&
  text.test(error.message);

test('a key and its certificate are read, and none where none are set', () => {
  const files = readTlsFiles('http', { tlsKeyFile: at('one.key'), tlsCertificateFile: at('one.crt') });
  assert.match(files?.cert.toString() ?? '', /BEGIN CERTIFICATE/);
  assert.equal(readTlsFiles('http', {}), undefined);
});

test('errors in them name the setting', () => {
  const wrong = [
    ['missing.key', 'one.crt', 'smtp.tlsKeyFile', /missing\.(?:key|crt).*not found/s],
    ['noise.pem', 'one.crt', 'smtp.tlsKeyFile', /noise\.pem/],
    ['one.key', 'missing.crt', 'smtp.tlsCertificateFile', /missing\.(?:key|crt).*not found/s],
    ['one.key', 'noise.pem', 'smtp.tlsCertificateFile', /noise\.pem/],
    ['one.key', 'two.crt', 'smtp.tlsCertificateFile', /does not belong to the key of smtp\.tlsKeyFile/],
  ] as const;
  for (const [key, certificate, setting, text] of wrong) {
    const section = { tlsKeyFile: at(key), tlsCertificateFile: at(certificate) };
    assert.throws(() => readTlsFiles('smtp', section), names(setting, text), `${key}, ${certificate}`);
  }
});

test('refusals by a reader of a configured file name the setting, too', () => {
  const refuse = (): never => {
    throw new RangeError('no anchor in it');
  };
  assert.throws(
    () => useConfiguredFile('trust.publishedAnchorsFile', at('noise.pem'), refuse),
    names('trust.publishedAnchorsFile', /no anchor in it/),
  );
});
