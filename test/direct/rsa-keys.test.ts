/** RSA keys whose numbers are not those of an RSA key: nothing is sealed for them, and nothing they signed is trusted (AS-14). */
import assert from 'node:assert/strict';
import { createHash, type KeyObject } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { der } from '../../src/lib/asn1/index.ts';
import { resolveRecipient, sealMessage, type Discovery } from '../../src/lib/direct/index.ts';
import { createKeyPair, validatePath, type Certificate } from '../../src/lib/pki/index.ts';
import { encryptEntity, verifyEntity } from '../../src/lib/smime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import {
  cmsEntity,
  forgeSignedData,
  forgeSigner,
  goodAttributes,
  names,
} from '../peer-messages/forge-cms.ts';
import { refusedWith } from './support/refusals.ts';
import { createMessageWorld, plainHeader, plainMessage, type MessageWorld } from './support/test-messages.ts';
import { alice, at, bob, createTestPki } from './support/test-pki.ts';

const carol = parseDirectAddress('carol@direct.beta.example');
const good = 65_537n;

function bytesOf(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

/** An INTEGER in DER, negative ones too. */
function integer(value: bigint): Buffer {
  if (value >= 0n) return der.unsignedInteger(value === 0n ? Buffer.of(0) : bytesOf(value));
  const size = bytesOf(-value).length + 1;
  const full = bytesOf((1n << BigInt(size * 8)) + value);
  const isPadded = full[0] === 0xff && ((full[1] ?? 0) & 0x80) !== 0;
  return der.tlv(0x02, isPadded ? full.subarray(1) : full);
}

describe('RSA keys', () => {
  let world: MessageWorld;
  let modulus: bigint;
  before(async () => {
    world = createMessageWorld(await createTestPki());
    const { n = '' } = world.pki.rsaKeys.publicKey.export({ format: 'jwk' });
    modulus = BigInt(`0x${Buffer.from(n, 'base64url').toString('hex')}`);
  });

  function certificateWith(numbers: readonly bigint[], changes = {}): Certificate {
    const key = der.sequence(...numbers.map(integer));
    const algorithm = der.sequence(der.oid('1.2.840.113549.1.1.1'), der.null());
    const spki = der.sequence(algorithm, der.tlv(0x03, Buffer.concat([Buffer.of(0), key])));
    // OpenSSL would not make a key object of some of these; a certificate can hold them all the same.
    const publicKey = { export: () => spki } as unknown as KeyObject;
    return world.pki.issue({ publicKey, ...changes });
  }

  const faults: readonly { title: string; numbers: () => readonly bigint[] }[] = [
    { title: 'exponent 0', numbers: () => [modulus, 0n] },
    { title: 'exponent 1', numbers: () => [modulus, 1n] },
    { title: 'exponent 2', numbers: () => [modulus, 2n] },
    { title: 'exponent 65536', numbers: () => [modulus, 65_536n] },
    { title: 'exponent -1', numbers: () => [modulus, -1n] },
    { title: 'exponent -65537', numbers: () => [modulus, -65_537n] },
    { title: 'an exponent of 257 bits', numbers: () => [modulus, (1n << 256n) + 1n] },
    { title: 'an even modulus', numbers: () => [modulus - 1n, good] },
    { title: 'a negative modulus', numbers: () => [-modulus, good] },
    {
      title: 'a modulus divisible by 3',
      numbers: () => [3n * (modulus / 3n) + (((modulus / 3n) & 1n) === 0n ? 3n : 0n), good],
    },
    { title: 'a third number', numbers: () => [modulus, good, 1n] },
  ];
  for (const { title, numbers } of faults) {
    test(`AS-14 ${title}: PKI_KEY_INVALID, whether it signs or receives`, async () => {
      const certificate = certificateWith(numbers());
      for (const use of ['signing', 'encryption'] as const)
        await refusedWith('PKI_KEY_INVALID', () =>
          validatePath(certificate, use, { at, anchors: world.anchors, address: alice }),
        );
    });

    test(`AS-14 ${title}: nothing is encrypted to it, with a code`, async () => {
      const certificate = certificateWith(numbers());
      for (const keyTransport of ['oaep-sha256', 'oaep-sha1', 'pkcs1'] as const)
        await refusedWith('SMIME_RECIPIENT_KEY_NOT_ALLOWED', () =>
          encryptEntity(plainMessage(), [{ certificate, keyTransport }]),
        );
    });

    test(`AS-43 ${title}: a recipient next to it is reached`, async () => {
      const bad = certificateWith(numbers(), { rfc822Names: [carol] });
      const discovery: Discovery = {
        discover: async (address) => ({
          outcome: 'found',
          source: 'dns-address',
          certificates: [address === carol ? bad : world.recipient.certificate],
          steps: [],
          isTransient: false,
          isFromCache: false,
        }),
      };
      const trust = { at, anchors: world.anchors, discovery };
      const [forBob, forCarol] = await Promise.all([
        resolveRecipient(bob, trust),
        resolveRecipient(carol, trust),
      ]);
      assert.equal(forCarol.outcome, 'refused');
      assert.equal(forCarol.refused[0]?.code, 'PKI_KEY_INVALID');
      assert.ok(forBob.outcome === 'usable');
      const header = plainHeader.map((line) => (line.startsWith('To:') ? `To: ${bob}, ${carol}` : line));
      const sealed = sealMessage({
        message: plainMessage(header),
        signers: [world.signer],
        recipients: [{ address: bob, certificates: forBob.certificates.map((path) => path.certificates[0]) }],
        at,
      });
      assert.deepEqual(sealed.recipients, [bob]);
    });
  }

  test('AS-43 a key that the policy lets pass but nothing can be encrypted to is refused for its recipient alone', async () => {
    const weak = world.pki.issue({ publicKey: world.pki.weakKeys.publicKey, rfc822Names: [carol] });
    const discovery: Discovery = {
      discover: async () => ({
        outcome: 'found',
        source: 'dns-address',
        certificates: [weak],
        steps: [],
        isTransient: false,
        isFromCache: false,
      }),
    };
    const policy = { minRsaBits: 1024 };
    const result = await resolveRecipient(carol, { at, anchors: world.anchors, discovery, policy });
    assert.equal(result.outcome, 'refused');
    assert.equal(result.refused[0]?.code, 'SMIME_RECIPIENT_KEY_NOT_ALLOWED');
  });

  test('AS-14 a signature made without a key under exponent 1 is not accepted', async () => {
    const certificate = certificateWith([modulus, 1n]);
    const content = plainMessage();
    const signer = forgeSigner({
      key: { certificate, privateKey: world.pki.rsaKeys.privateKey },
      content,
      changeSignature: ({ length }) => paddedDigest(der.set(...goodAttributes(content)), length),
    });
    const signed = cmsEntity(
      forgeSignedData({ signers: [signer], certificates: [certificate.der], content }),
    );
    await refusedWith('SMIME_SIGNER_KEY_NOT_ALLOWED', () => verifyEntity(signed));
  });

  test('AS-14 a CA with exponent 1 can issue no valid certificate', async () => {
    const certificate = certificateWith([modulus, 1n], {
      subject: [['CN', 'weak CA']],
      isCa: true,
      keyUsage: ['keyCertSign', 'cRLSign'],
      rfc822Names: [],
    });
    const issuer = { certificate, privateKey: world.pki.rsaKeys.privateKey };
    const leaf = world.pki.issue({ issuer });
    // Signed with the real key: only the exponent is wrong. The digest that stands for itself would do as well.
    await refusedWith('PKI_SIGNATURE_INVALID', () =>
      validatePath(leaf, 'signing', {
        at,
        anchors: world.anchors,
        candidates: [certificate],
        address: alice,
      }),
    );
  });

  test('AS-14 exponents 3 and of 256 bits are accepted, and keys of ours have 65537', async () => {
    for (const exponent of [3n, (1n << 256n) - 1n]) {
      const certificate = certificateWith([modulus, exponent]);
      await validatePath(certificate, 'encryption', { at, anchors: world.anchors, address: alice });
      encryptEntity(plainMessage(), [{ certificate }]);
    }
    const { publicKey } = await createKeyPair();
    assert.equal(publicKey.asymmetricKeyDetails?.publicExponent, good);
  });
});

/** The signature of RFC 8017 §9.2 before the private key is applied, which an exponent of 1 takes as it stands. */
function paddedDigest(signed: Uint8Array, sizeBytes: number): Buffer {
  const digest = createHash('sha256').update(signed).digest();
  const info = der.sequence(der.sequence(der.oid(names.sha256), der.null()), der.octetString(digest));
  const padding = Buffer.alloc(sizeBytes - info.length - 3, 0xff);
  return Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), info]);
}
