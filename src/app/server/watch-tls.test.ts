import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { after, test } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { createCertificate, formatPem } from '../../lib/pki/index.ts';
import { readTlsFiles } from '../../platform/index.ts';
import { createTlsWatch } from './watch-tls.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-watch-tls-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
const settings = {
  tlsKeyFile: path.join(folder, 'key.pem'),
  tlsCertificateFile: path.join(folder, 'cert.pem'),
};

function writePair(name: string, { withKey = true } = {}): void {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const notBefore = new Date(Date.now() - 3_600_000);
  const notAfter = new Date(Date.now() + 3_600_000);
  const certificate = createCertificate({
    subject: [['CN', name]],
    publicKey,
    privateKey,
    notBefore,
    notAfter,
  });
  writeFileSync(settings.tlsCertificateFile, formatPem('CERTIFICATE', certificate.der));
  if (withKey) writeFileSync(settings.tlsKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
}

test('a renewed certificate is used for new connections, and half a renewal changes nothing', async () => {
  writePair('first');
  const server = createServer({ ...readTlsFiles('http', settings) });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const nameServed = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().subject.CN);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const errors: string[] = [];
  const log = {
    ...silentLog,
    error: ({ problem }: { problem?: unknown }) => void errors.push(String(problem)),
  };
  const watch = createTlsWatch('http', settings, log, (files) => server.setSecureContext(files));
  try {
    await watch.run();
    assert.equal(await nameServed(), 'first');
    writePair('half', { withKey: false });
    await watch.run();
    await watch.run();
    assert.equal(await nameServed(), 'first');
    assert.equal(errors.length, 1);
    assert.match(
      errors[0] ?? '',
      /cert\.pem cannot be used: its first certificate does not belong to the key of http\.tlsKeyFile$/,
    );
    writePair('second');
    await watch.run();
    assert.equal(await nameServed(), 'second');
  } finally {
    server.close();
  }
});
