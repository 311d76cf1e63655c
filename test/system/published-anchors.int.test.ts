import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createAuthority, createKeyPair, formatPem, readTrustBundle } from '../../src/lib/pki/index.ts';
import { openTestSandbox, type TestSandbox } from './sandbox-fixture.ts';

const needsOpenssl = {
  skip: spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed',
};

describe('BUNDLE-06: our anchors as a bundle', () => {
  let folder: string;
  let world: TestSandbox;
  let url: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'openhisp-anchors-'));
    const keys = await createKeyPair({ curve: 'P-256' });
    const pem = ['Anchor One', 'Anchor Two'].map((name) => {
      const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2046-01-01') };
      return formatPem('CERTIFICATE', createAuthority({ subject: [['CN', name]], ...keys, ...validity }).der);
    });
    await writeFile(path.join(folder, 'anchors.pem'), pem.join(''));
    world = await openTestSandbox({ 'trust.publishedAnchorsFile': path.join(folder, 'anchors.pem') });
    url = `${world.sandbox.credentials.baseUrl}/trust-bundle.p7b`;
  });
  after(async () => {
    await world.close();
    await rm(folder, { recursive: true, maxRetries: 5 });
  });

  it('is given to everybody, and once only to who has it', async () => {
    const first = await fetch(url);
    assert.equal(first.status, 200);
    assert.equal(first.headers.get('content-type'), 'application/pkcs7-mime');
    const { anchors } = readTrustBundle(new Uint8Array(await first.arrayBuffer()));
    assert.deepEqual(anchors.map(({ subject }) => subject).toSorted(), ['CN=Anchor One', 'CN=Anchor Two']);
    const etag = first.headers.get('etag') ?? '';
    for (const given of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await fetch(url, { headers: { 'if-none-match': given } });
      assert.deepEqual([again.status, (await again.arrayBuffer()).byteLength], [304, 0]);
    }
    assert.equal((await fetch(url, { headers: { 'if-none-match': '"other"' } })).status, 200);
  });

  it('equals the output of the command, and OpenSSL reads it', needsOpenssl, async () => {
    const out = path.join(folder, 'written.p7b');
    const words = ['bundle', 'write', path.join(folder, 'anchors.pem'), '--out', out];
    const printed = execFileSync(
      process.execPath,
      [path.join(import.meta.dirname, '../../src/app/cli/main.ts'), ...words],
      { encoding: 'utf8' },
    );
    assert.match(printed, /CN=Anchor One[\s\S]*CN=Anchor Two/);
    assert.deepEqual(await readFile(out), Buffer.from(await (await fetch(url)).arrayBuffer()));
    const shown = execFileSync('openssl', ['pkcs7', '-inform', 'DER', '-in', out, '-print_certs', '-noout'], {
      encoding: 'utf8',
    });
    assert.match(shown, /Anchor One[\s\S]*Anchor Two|Anchor Two[\s\S]*Anchor One/);
  });
});
