import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createCertificate } from '../../src/lib/pki/index.ts';
import { startOauthServer } from '../conformance/oauth-server.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-tls-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const certificate = createCertificate({
  subject: [['CN', 'localhost']],
  publicKey,
  privateKey,
  notBefore: new Date(Date.now() - 3_600_000),
  notAfter: new Date(Date.now() + 3_600_000),
  dnsNames: ['localhost'],
});
const pem = `-----BEGIN CERTIFICATE-----\n${Buffer.from(certificate.der).toString('base64')}\n-----END CERTIFICATE-----\n`;
const [keyFile, certificateFile] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
writeFileSync(certificateFile, pem);

const server = await startOauthServer({
  env: { OPENHISP_HTTP_TLS_KEY_FILE: keyFile, OPENHISP_HTTP_TLS_CERTIFICATE_FILE: certificateFile },
});

function get(options: RequestOptions): Promise<{ status: number | undefined; hsts: string | undefined }> {
  return new Promise((resolve, reject) => {
    const url = new URL('/health/live', server.url);
    request(url, { ca: pem, servername: 'localhost', agent: false, ...options }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, hsts: response.headers['strict-transport-security'] });
    })
      .on('error', reject)
      .end();
  });
}

test('OAUTH-15: TLS 1.2 and 1.3 are spoken, with HSTS', async () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const answer = await get({ minVersion: version, maxVersion: version });
    assert.deepEqual([answer.status, answer.hsts], [200, 'max-age=31536000']);
  }
});

test('OAUTH-15: older TLS is refused', async () => {
  const older: RequestOptions = {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  };
  await assert.rejects(get(older), /alert protocol version/);
});
