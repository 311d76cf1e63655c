import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { readCertificates, readPrivateKey, type Certificate } from '../../src/lib/pki/index.ts';
import {
  decryptEntity,
  defaultCryptoPolicy,
  verifyEntity,
  type CryptoPolicy,
  type DecryptionKey,
} from '../../src/lib/smime/index.ts';
import { fixturesDir } from '../support/fixtures.ts';

const folder = fixturesDir();
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const skip =
  folder === undefined
    ? 'the folder of reference fixtures is not on this machine'
    : !hasOpenssl
      ? 'openssl is missing'
      : false;

function readReference(name: string): Buffer {
  return readFileSync(path.join(folder ?? '', 'reference-data', name));
}

/** Legacy containers, which only OpenSSL's legacy provider opens. */
function readContainer(name: string, password: string): DecryptionKey[] {
  const file = path.join(folder ?? '', 'reference-data', name);
  const found = spawnSync(
    'openssl',
    ['pkcs12', '-legacy', '-in', file, '-passin', `pass:${password}`, '-nodes'],
    { encoding: 'utf8' },
  );
  const privateKey = readPrivateKey(
    /-----BEGIN PRIVATE KEY-----[^]*?-----END PRIVATE KEY-----/.exec(found.stdout)?.[0] ?? '',
  );
  return readCertificates(found.stdout).map((certificate: Certificate) => ({ certificate, privateKey }));
}

const ryan = (): DecryptionKey[] =>
  readCertificates(readReference('java-agent/certs/ryan.der')).map((certificate) => ({
    certificate,
    privateKey: readPrivateKey(readReference('java-agent/certs/ryanKey.der')),
  }));
const umamalga = () =>
  readContainer('dotnet/agent/Certificates/nhind/Private/nhind_umamalga1_vm1.pfx', 'passw0rd!');
const healthEmail = (use: string) => () =>
  readContainer(`trust-utils/certs/direct.securehealthemail.com-${use}.p12`, '');

const sha1: CryptoPolicy = { ...defaultCryptoPolicy, weakDigests: new Set(['sha1']) };
const sha1AndShortKeys: CryptoPolicy = { ...sha1, minimumRsaBits: 1024 };

/** Every stored message whose key was published too. `policy` is what it takes to accept the signature. */
const messages: readonly {
  file: string;
  keys: () => DecryptionKey[];
  policy?: CryptoPolicy;
  algorithms: string;
}[] = [
  { file: 'java-agent/messages/EncAttachment.txt', keys: ryan, algorithms: 'aes-128-cbc pkcs1' },
  { file: 'java-agent/messages/EncryptedMessage2.txt', keys: ryan, algorithms: 'aes-128-cbc pkcs1' },
  ...['', 'ContentType1', 'ContentType2'].map((suffix) => ({
    file: `dotnet/agent/TestMessages/envelopeSignature${suffix}.eml`,
    keys: umamalga,
    policy: sha1,
    algorithms: 'aes-128-cbc oaep-sha1',
  })),
  {
    file: 'trust-utils/messages/BadDispRequest.txt',
    keys: healthEmail('keyEnc'),
    policy: sha1,
    algorithms: 'aes-128-cbc pkcs1',
  },
  {
    file: 'trust-utils/messages/Encrypted.txt',
    keys: healthEmail('digSig'),
    policy: sha1,
    algorithms: 'aes-128-cbc pkcs1',
  },
  {
    file: 'trust-utils/messages/Encrypted2.txt',
    keys: healthEmail('digSig'),
    policy: sha1,
    algorithms: 'aes-128-cbc pkcs1',
  },
  {
    file: 'ett/direct-tests/TestGeneratedMessage.txt',
    keys: () => readContainer('ett/direct-tests/testCert.p12', ''),
    policy: sha1AndShortKeys,
    algorithms: 'aes-128-cbc pkcs1',
  },
];

for (const { file, keys, policy, algorithms } of messages) {
  test(`opens and verifies ${file}`, { skip }, () => {
    const opened = decryptEntity(readReference(file), keys());
    assert.equal(`${opened.contentAlgorithm} ${opened.keyTransport}`, algorithms);
    const { entity, signers } = verifyEntity(opened.content, policy);
    assert.ok(signers.some(({ outcome }) => outcome === 'valid'));
    assert.equal(parseEntity(entity).contentType.mediaType, 'message/rfc822');
    if (policy !== undefined) {
      assert.throws(() => verifyEntity(opened.content), { code: /^SMIME_(DIGEST|SIGNER_KEY)_NOT_ALLOWED$/ });
    }
  });
}

const undecryptable: Readonly<Record<string, string>> = {
  // Their very first header line begins with a blank.
  'java-agent/messages/EncryptedMessage.txt': 'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
  'java-gateway/messages/EncryptedMessage.txt': 'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
  'java-agent/messages/EncryptedMessage3.txt': 'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
  'java-agent/messages/LargeEncAttachment.txt': 'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
  'java-agent/messages/EncAttachment2.txt': 'SMIME_NO_RECIPIENT_KEY',
  'java-msg-monitor-model/messages/SMIMEMessage.txt': 'SMIME_NO_RECIPIENT_KEY',
  'trust-utils/messages/ValidKeyUsage.txt': 'SMIME_NO_RECIPIENT_KEY',
};

for (const [file, code] of Object.entries(undecryptable)) {
  test(`recognises ${file} as encrypted, for no key of the recipient`, { skip }, () => {
    assert.throws(() => decryptEntity(readReference(file), ryan()), { code });
  });
}
