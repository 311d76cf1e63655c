/** The golden vectors of the Java reference implementation, with the one check that they fail by design on and off (AS-20). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { openMessage, verifySender } from '../../src/lib/direct/index.ts';
import { readCertificate, readPrivateKey, readTrustBundle } from '../../src/lib/pki/index.ts';
import { fixturesDir, needsFixtures } from '../support/fixtures.ts';
import { refusedWith } from './support/refusals.ts';

const at = new Date('2026-11-21T12:00:00Z');
const read = (file: string): Buffer => readFileSync(path.join(fixturesDir() ?? '', 'reference-data', file));

describe('golden vectors', needsFixtures(), () => {
  for (const name of ['EncAttachment.txt', 'EncryptedMessage2.txt']) {
    const open = () => {
      const certificate = readCertificate(read('java-agent/certs/ryan.der'));
      const key = { certificate, privateKey: readPrivateKey(read('java-agent/certs/ryanKey.der')) };
      return openMessage({ message: read(`java-agent/messages/${name}`), keys: [key] });
    };
    const trust = () => ({
      at,
      anchors: [readCertificate(read('java-agent/certs/secureHealthEmailCACert.der'))],
    });

    test(`AS-20 ${name} opens; its SHA-1-signed certificates are refused by default`, async () => {
      const error = await refusedWith('DIRECT_SENDER_UNTRUSTED', () =>
        verifySender(open(), undefined, trust()),
      );
      assert.match(String(error.cause), /PkiError: .*1\.2\.840\.113549\.1\.1\.5/);
    });

    test(`AS-20 ${name} is accepted with the option for such certificates`, async () => {
      const verified = await verifySender(open(), undefined, {
        ...trust(),
        policy: { allowSha1Certificates: true },
      });
      assert.equal(verified.sender, 'gm2552@securehealthemail.com');
      assert.equal(verified.path.certificates.length, 2);
    });
  }

  test('BUNDLE-01, BUNDLE-02, BUNDLE-04 the trust bundles of both reference implementations', () => {
    const counts: readonly (readonly [file: string, anchors: number])[] = [
      ['dotnet/agent/Certificates/Bundles/bundleNoMetadata.p7b', 2],
      ['dotnet/agent/Certificates/Bundles/bundleWithMetadata.p7b', 2],
      ['dotnet/agent/Certificates/Bundles/bundlePEM.p7b', 8],
      ['java-config-service/bundles/providerTestBundle.p7b', 6],
      ['java-config-service/bundles/signedbundle.p7b', 1],
      ['java-config-service/bundles/signedbundle.p7m', 1],
    ];
    for (const [file, count] of counts) assert.equal(readTrustBundle(read(file)).anchors.length, count, file);
    assert.match(
      readTrustBundle(read('dotnet/agent/Certificates/Bundles/bundleWithMetadata.p7b')).metadata ?? '',
      /^<xml>/,
    );
  });
});
