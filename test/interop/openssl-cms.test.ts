import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  decryptEntity,
  encryptEntity,
  signEntity,
  verifyEntity,
  type KeyTransport,
  type SendingCipher,
  type SigningDigest,
} from '../../src/lib/smime/index.ts';
import { peerPath, readPeerKey } from '../peer-messages/peer-files.ts';
import { createOpensslCms, opensslSkip } from './openssl-cms.ts';

const skip = opensslSkip();
const openssl = createOpensslCms();
after(() => openssl.close());

const at = new Date();
const bob = readPeerKey('bob');
const content = Buffer.from(
  `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGrüße, ${'long line '.repeat(300)}\r\n\r\ntrailing blanks  \r\nno last line end`,
);
const cbc = ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc'] as const satisfies readonly SendingCipher[];
const gcm = ['aes-128-gcm', 'aes-192-gcm', 'aes-256-gcm'] as const satisfies readonly SendingCipher[];
const ciphers = [...cbc, ...gcm];
const digests = ['sha256', 'sha384', 'sha512'] as const satisfies readonly SigningDigest[];
const transports = ['oaep-sha256', 'oaep-sha1', 'pkcs1'] as const satisfies readonly KeyTransport[];

function run(args: readonly string[], input: Uint8Array): Buffer {
  const { isOk, output, errors } = openssl.run(args, input);
  assert.ok(isOk, errors);
  return output;
}

const opening = ['-decrypt', '-binary', '-recip', peerPath('pki/bob.pem'), '-inkey', peerPath('pki/bob.key')];
const verifying = ['-verify', '-CAfile', peerPath('pki/alphaCA.pem'), '-crlfeol'];

for (const contentCipher of ciphers) {
  test(
    `openssl opens and verifies what we send under ${contentCipher}, all key transports and digests`,
    { skip },
    () => {
      for (const digest of digests) {
        const signed = signEntity(content, [readPeerKey('alice')], { at, digest });
        for (const keyTransport of transports) {
          const sealed = encryptEntity(signed, [{ ...bob, keyTransport }], { contentCipher });
          const opened = run(opening, sealed);
          assert.ok(opened.equals(signed), `${keyTransport}, ${digest}`);
          assert.deepEqual(run(verifying, opened), content, `${keyTransport}, ${digest}`);
        }
      }
    },
  );
}

test('openssl verifies every kind of signing key, and several at once', { skip }, () => {
  for (const names of [
    ['alice3072'],
    ['alice4096'],
    ['aliceEC'],
    ['aliceEC384'],
    ['alice', 'aliceEC', 'aliceEC384'],
  ]) {
    const signed = signEntity(content, names.map(readPeerKey), { at });
    assert.deepEqual(run(verifying, signed), content, names.join());
  }
});

test('every recipient of one envelope opens it with openssl', { skip }, () => {
  const names = ['bob', 'bob2', 'beta-org'];
  const sealed = encryptEntity(content, names.map(readPeerKey));
  for (const name of names) {
    const args = [
      '-decrypt',
      '-binary',
      '-recip',
      peerPath(`pki/${name}.pem`),
      '-inkey',
      peerPath(`pki/${name}.key`),
    ];
    assert.deepEqual(run(args, sealed), content, name);
  }
  const otherRecipient = [
    '-decrypt',
    '-binary',
    '-recip',
    peerPath('pki/alice.pem'),
    '-inkey',
    peerPath('pki/alice.key'),
  ];
  assert.equal(openssl.run(otherRecipient, sealed).isOk, false);
});

function signing(name: string, digest: string, ...more: string[]): string[] {
  const key = ['-signer', peerPath(`pki/${name}.pem`), '-inkey', peerPath(`pki/${name}.key`)];
  return ['-sign', '-binary', '-md', digest, ...key, ...more];
}

const oaep = (digest: string, maskDigest = digest) =>
  ['rsa_padding_mode:oaep', `rsa_oaep_md:${digest}`, `rsa_mgf1_md:${maskDigest}`].flatMap((option) => [
    '-keyopt',
    option,
  ]);

const keyOptions: Readonly<Record<string, readonly string[]>> = {
  pkcs1: [],
  'oaep-sha1': ['-keyopt', 'rsa_padding_mode:oaep'],
  'oaep-sha256': oaep('sha256'),
  'oaep-sha384': oaep('sha384'),
  'oaep-sha512': oaep('sha512'),
  'oaep-sha256-mgf1-sha1': oaep('sha256', 'sha1'),
  'oaep-sha1-mgf1-sha256': oaep('sha1', 'sha256'),
  'oaep-sha512-mgf1-sha1': oaep('sha512', 'sha1'),
};

for (const cipher of ciphers) {
  test(
    `we open and verify what openssl sends under ${cipher}, all key transports and digests`,
    { skip },
    () => {
      const signed = digests.map((digest) => run(signing('alice', digest), content));
      for (const [keyTransport, options] of Object.entries(keyOptions)) {
        for (const [index, entity] of signed.entries()) {
          const args = ['-encrypt', '-binary', `-${cipher}`, '-recip', peerPath('pki/bob.pem'), ...options];
          const opened = decryptEntity(run(args, entity), [bob]);
          assert.equal(`${opened.contentAlgorithm} ${opened.keyTransport}`, `${cipher} ${keyTransport}`);
          assert.ok(opened.content.equals(entity));
          const verified = verifyEntity(opened.content);
          const [signer] = verified.signers;
          assert.ok(signer?.outcome === 'valid' && signer.digestAlgorithm === digests[index]);
          assert.deepEqual(verified.entity, content);
        }
      }
    },
  );
}

const signerVariants: Readonly<Record<string, readonly string[]>> = {
  'without signed attributes': ['-noattr'],
  'by key identifier': ['-keyid'],
  'with RSASSA-PSS': ['-keyopt', 'rsa_padding_mode:pss'],
  'with RSASSA-PSS and no salt': ['-keyopt', 'rsa_padding_mode:pss', '-keyopt', 'rsa_pss_saltlen:0'],
  opaque: ['-nodetach'],
  'opaque and streamed, so BER': ['-nodetach', '-stream'],
  'without capabilities': ['-nosmimecap'],
  'with a signing-certificate attribute': ['-cades'],
  'with a second signer': ['-signer', peerPath('pki/aliceEC.pem'), '-inkey', peerPath('pki/aliceEC.key')],
};

for (const [name, options] of Object.entries(signerVariants)) {
  test(`we verify openssl's signatures ${name}`, { skip }, () => {
    const { signers, entity } = verifyEntity(run(signing('alice', 'sha256', ...options), content));
    assert.ok(signers.length > 0 && signers.every(({ outcome }) => outcome === 'valid'));
    assert.deepEqual(Buffer.from(entity), content);
  });
}

for (const [name, digest] of [
  ['alice3072', 'sha256'],
  ['alice4096', 'sha512'],
  ['aliceEC', 'sha256'],
  ['aliceEC384', 'sha384'],
  ['aliceEC384', 'sha256'],
] as const) {
  test(`we verify openssl's signatures of ${name} with ${digest}`, { skip }, () => {
    const [signer] = verifyEntity(run(signing(name, digest), content)).signers;
    assert.ok(signer?.outcome === 'valid' && signer.digestAlgorithm === digest);
  });
}

const envelopeVariants: Readonly<Record<string, readonly string[]>> = {
  'by key identifier': ['-keyid'],
  'streamed, so BER with indefinite lengths': ['-stream'],
};

for (const [name, options] of Object.entries(envelopeVariants)) {
  test(`we open openssl's envelopes ${name}`, { skip }, () => {
    const large = Buffer.alloc(700_000, 'payload ');
    for (const cipher of ciphers) {
      const args = ['-encrypt', '-binary', `-${cipher}`, ...options, '-recip', peerPath('pki/bob.pem')];
      assert.ok(decryptEntity(run(args, large), [bob]).content.equals(large), cipher);
    }
  });
}

test('AS-59: we open envelopes by ECDH key agreement', { skip }, () => {
  const elliptic = readPeerKey('bobEC');
  for (const digest of ['sha1', 'sha256', 'sha384', 'sha512']) {
    for (const wrap of ['-aes128-wrap', '-aes192-wrap', '-aes256-wrap']) {
      const args = [
        '-encrypt',
        '-binary',
        '-aes-256-cbc',
        wrap,
        '-recip',
        peerPath('pki/bobEC.pem'),
        '-keyopt',
        `ecdh_kdf_md:${digest}`,
      ];
      const opened = decryptEntity(run(args, content), [bob, elliptic]);
      assert.equal(opened.keyTransport, `ecdh-${digest}`);
      assert.deepEqual(opened.content, content);
    }
  }
  const both = [
    '-encrypt',
    '-binary',
    '-aes-256-gcm',
    '-recip',
    peerPath('pki/bobEC.pem'),
    '-recip',
    peerPath('pki/bob.pem'),
  ];
  const sealed = run(both, content);
  for (const key of [bob, elliptic]) assert.deepEqual(decryptEntity(sealed, [key]).content, content);
});
