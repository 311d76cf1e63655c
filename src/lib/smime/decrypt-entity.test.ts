import assert from 'node:assert/strict';
import { constants, createCipheriv, privateDecrypt, publicEncrypt } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  algorithm,
  cmsEntity,
  forgeEnvelope,
  issuerAndSerial,
  names,
} from '../../../test/peer-messages/forge-cms.ts';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import { childAt, contentBytes, der, readAsn1, tags, type Asn1 } from '../asn1/index.ts';
import {
  decryptCms,
  decryptEntity,
  defaultCryptoPolicy,
  encryptCms,
  findRemains,
  signEntity,
  type SmimeError,
} from './index.ts';

const bob = readPeerKey('bob');
const bob2 = readPeerKey('bob2');
const { certificate } = bob;
const content = Buffer.from('Content-Type: text/plain\r\n\r\nhello\r\n', 'latin1');
const digests = ['sha1', 'sha256', 'sha384', 'sha512'] as const;

function oaepAlgorithm(digest: string, maskDigest: string, label?: Uint8Array): Buffer {
  return algorithm(
    names.oaep,
    der.sequence(
      der.explicit(0, algorithm(digest, der.null())),
      der.explicit(1, algorithm(names.mgf1, algorithm(maskDigest, der.null()))),
      ...(label === undefined ? [] : [der.explicit(2, algorithm(names.pSpecified, der.octetString(label)))]),
    ),
  );
}

test('AS-71: a message in the clear or only signed is refused', () => {
  const signed = signEntity(content, [readPeerKey('alice')], { at: new Date() });
  for (const message of [content, signed]) {
    assert.throws(() => decryptEntity(message, [bob]), { code: 'SMIME_NOT_ENCRYPTED' });
  }
});

for (const digest of digests) {
  test(`AS-56, AS-58: OAEP with ${digest} as hash and mask hash, with and without a label`, () => {
    for (const label of [undefined, Buffer.from('label')]) {
      const opened = decryptCms(
        forgeEnvelope({
          content,
          certificate,
          keyAlgorithm: oaepAlgorithm(names[digest], names[digest], label),
          encryptedKey: (key) =>
            publicEncrypt(
              { key: certificate.publicKey, oaepHash: digest, ...(label && { oaepLabel: label }) },
              key,
            ),
        }),
        [bob],
      );
      assert.equal(opened.keyTransport, `oaep-${digest}`);
      assert.deepEqual(opened.content, content);
    }
  });
}

test('AS-56: OAEP without any parameters means SHA-1', () => {
  for (const keyAlgorithm of [algorithm(names.oaep), algorithm(names.oaep, der.sequence())]) {
    const encryptedKey = (key: Buffer) =>
      publicEncrypt({ key: certificate.publicKey, oaepHash: 'sha1' }, key);
    assert.equal(
      decryptCms(forgeEnvelope({ content, certificate, keyAlgorithm, encryptedKey }), [bob]).keyTransport,
      'oaep-sha1',
    );
  }
});

test('AS-83: recipients by key identifier, and every matching key is tried', () => {
  const reference = der.implicit(0, false, certificate.subjectKeyIdentifier ?? Buffer.alloc(0));
  assert.deepEqual(
    decryptCms(forgeEnvelope({ content, certificate, reference }), [bob2, bob]).content,
    content,
  );
  const stale = { certificate, privateKey: bob2.privateKey };
  assert.equal(decryptCms(forgeEnvelope({ content, certificate }), [stale, bob2, bob]).key, bob);
});

test('a RecipientInfo for us that does not work leaves the next one its turn', () => {
  const recipient = (key: Uint8Array) =>
    der.sequence(
      der.integer(0),
      issuerAndSerial(certificate),
      algorithm(names.rsa, der.null()),
      der.octetString(key),
    );
  const good = publicEncrypt(
    { key: certificate.publicKey, padding: constants.RSA_PKCS1_PADDING },
    Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex'),
  );
  const broken = Buffer.alloc(256, 9);
  const recipients = [
    recipient(broken),
    der.implicit(4, true, der.oid('1.2.3'), der.null()),
    recipient(good),
  ];
  const opened = decryptCms(forgeEnvelope({ content, certificate, recipients }), [bob]);
  assert.deepEqual(opened.content, content);
});

test('the private key is used a bounded number of times on one message', () => {
  const recipient = der.sequence(
    der.integer(0),
    issuerAndSerial(certificate),
    algorithm(names.rsa, der.null()),
    der.octetString(Buffer.alloc(256, 9)),
  );
  const cms = forgeEnvelope({
    content,
    certificate,
    recipients: Array.from({ length: 2000 }, () => recipient),
  });
  let uses = 0;
  const counting = {
    certificate,
    get privateKey() {
      uses++;
      return bob.privateKey;
    },
  };
  try {
    decryptCms(cms, [counting]);
  } catch {
    // A content key made of nothing gives valid padding now and then.
  }
  assert.ok(uses > 0 && uses <= 8);
});

test('AS-56: an envelope that names one key many times takes the same work with right and with wrong padding', () => {
  const recipient = der.sequence(
    der.integer(0),
    issuerAndSerial(certificate),
    algorithm(names.rsa, der.null()),
    der.octetString(
      publicEncrypt(
        { key: certificate.publicKey, padding: constants.RSA_PKCS1_PADDING },
        Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex'),
      ),
    ),
  );
  const recipients = Array.from({ length: 8 }, () => recipient);
  const usesOf = (changeCiphertext: (bytes: Buffer) => Uint8Array): number => {
    let uses = 0;
    const counting = {
      certificate,
      get privateKey() {
        uses++;
        return bob.privateKey;
      },
    };
    try {
      decryptCms(forgeEnvelope({ content, certificate, recipients, changeCiphertext }), [counting]);
    } catch (error) {
      assert.equal((error as SmimeError).code, 'SMIME_DECRYPTION_FAILED');
    }
    return uses;
  };
  const wrong = (bytes: Buffer): Uint8Array => bytes.subarray(0, 16);
  assert.equal(
    usesOf((bytes) => bytes),
    usesOf(wrong),
  );
});

test('AS-56: what wrong padding leaves is found by its error alone, which does not show it', () => {
  const cms = forgeEnvelope({ content, certificate, changeCiphertext: (bytes) => bytes.subarray(0, 16) });
  const failure = (() => {
    try {
      return decryptCms(cms, [bob]);
    } catch (error) {
      return error as SmimeError;
    }
  })();
  assert.equal(findRemains(failure)?.length, 16);
  assert.doesNotMatch(inspect(failure, { showHidden: true, depth: 5 }), /Content-Type/);
  assert.equal(findRemains(new Error('another')), undefined);
});

test('AS-70: media types and transfer encodings that peers use', () => {
  const cms = encryptCms([content], [bob]);
  const types = [
    'application/pkcs7-mime',
    'application/x-pkcs7-mime; smime-type="enveloped-data"; name="smime.p7m"',
    'APPLICATION/PKCS7-MIME; SMIME-TYPE=Enveloped-Data',
    'application/octet-stream; name=smime.p7m',
  ];
  for (const type of types) assert.deepEqual(decryptEntity(cmsEntity(cms, type), [bob]).content, content);
  for (const encoding of ['binary', '8bit', '7bit']) {
    const head = Buffer.from(
      `Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`,
      'latin1',
    );
    for (const end of ['', '\r\n', '\n']) {
      assert.deepEqual(decryptEntity(Buffer.concat([head, cms, Buffer.from(end)]), [bob]).content, content);
    }
  }
});

test('BER: indefinite lengths and content in pieces of 1000 bytes, as the reference implementation writes them', () => {
  const large = Buffer.alloc(300_001, 'payload ');
  for (const contentCipher of ['aes-256-cbc', 'aes-128-gcm'] as const) {
    const cms = encryptCms([large], [bob], { contentCipher });
    const loosened = loosen(readAsn1(cms));
    assert.ok(loosened.length > cms.length + 300);
    assert.ok(decryptCms(loosened, [bob]).content.equals(large));
    for (const index of [0, 150_000, 299_990]) {
      const damaged = Buffer.from(loosened);
      const at = damaged.length - 300_900 + index;
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      assert.ok(!isOpenedAs(damaged, large), `${contentCipher} at ${index}`);
    }
  }
});

function isOpenedAs(cms: Uint8Array, expected: Uint8Array): boolean {
  try {
    return decryptCms(cms, [bob]).content.equals(expected);
  } catch {
    return false;
  }
}

/** The same structure with indefinite lengths and long strings cut into pieces. */
function loosen(node: Asn1): Buffer {
  const content = contentBytes(node);
  const first = node.source[node.start] ?? 0;
  // Issuer names in the recipients are compared byte for byte, and peers leave them in DER.
  if (first === 0x31) return Buffer.from(node.source.subarray(node.start, node.end));
  if (node.isConstructed)
    return Buffer.concat([Buffer.of(first, 0x80), ...node.children.map(loosen), Buffer.alloc(2)]);
  const isString = node.tagClass === 2 || node.tagNumber === tags.octetString;
  if (!isString || content.length < 1000) return Buffer.from(node.source.subarray(node.start, node.end));
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += 1000)
    pieces.push(der.octetString(content.subarray(at, at + 1000)));
  return Buffer.concat([Buffer.of(first | 0x20, 0x80), ...pieces, Buffer.alloc(2)]);
}

test('AS-54: GCM with a tag of 12 bytes, the default of its parameters, and authenticated attributes', () => {
  const nonce = Buffer.alloc(12, 5);
  const attributes = der.set(der.sequence(der.oid(names.contentType), der.set(der.oid(names.data))));
  for (const [tagBytes, parameters] of [
    [12, der.sequence(der.octetString(nonce))],
    [16, der.sequence(der.octetString(nonce), der.integer(16))],
  ] as const) {
    const key = Buffer.alloc(16, 3);
    const cipher = createCipheriv('aes-128-gcm', key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(attributes);
    const encrypted = Buffer.concat([cipher.update(content), cipher.final()]);
    const build = (authAttributes: Buffer, tag: Uint8Array) =>
      der.sequence(
        der.oid(names.authEnvelopedData),
        der.explicit(
          0,
          der.sequence(
            der.integer(0),
            der.set(
              der.sequence(
                der.integer(0),
                issuerAndSerial(certificate),
                algorithm(names.rsa, der.null()),
                der.octetString(publicEncrypt({ key: certificate.publicKey, padding: 1 }, key)),
              ),
            ),
            der.sequence(
              der.oid(names.data),
              algorithm(names.aes128Gcm, parameters),
              der.implicit(0, false, encrypted),
            ),
            der.tlv(0xa1, contentBytes(readAsn1(authAttributes))),
            der.octetString(tag),
          ),
        ),
      );
    assert.deepEqual(decryptCms(build(attributes, cipher.getAuthTag()), [bob]).content, content);
    const otherAttributes = der.set(der.sequence(der.oid(names.contentType), der.set(der.oid('1.2.3'))));
    assert.throws(() => decryptCms(build(otherAttributes, cipher.getAuthTag()), [bob]), {
      code: 'SMIME_DECRYPTION_FAILED',
    });
    assert.throws(() => decryptCms(build(attributes, cipher.getAuthTag().subarray(0, 8)), [bob]), {
      code: 'SMIME_DECRYPTION_FAILED',
    });
  }
});

test('AS-54: all tags below 12 bytes are refused', () => {
  const cms = encryptCms([content], [bob], { contentCipher: 'aes-128-gcm' });
  const short = Buffer.from(cms.toString('hex').replace('020110', '020108'), 'hex');
  assert.throws(() => decryptCms(short, [bob]), { code: 'SMIME_CMS_MALFORMED' });
});

test('AS-55: Triple DES is read only under a policy that says so', () => {
  const key = Buffer.alloc(24, 0x2b);
  const iv = Buffer.alloc(8, 1);
  const cipher = createCipheriv('des-ede3-cbc', key, iv);
  const encrypted = Buffer.concat([cipher.update(content), cipher.final()]);
  const cms = forgeEnvelope({
    content,
    certificate,
    encryptedKey: () => publicEncrypt({ key: certificate.publicKey, padding: 1 }, key),
    contentAlgorithm: () => algorithm(names.tripleDes, der.octetString(iv)),
    changeCiphertext: () => encrypted,
  });
  assert.throws(() => decryptCms(cms, [bob]), { code: 'SMIME_CONTENT_CIPHER_NOT_ALLOWED' });
  assert.deepEqual(
    decryptCms(cms, [bob], { ...defaultCryptoPolicy, allowsTripleDes: true }).content,
    content,
  );
});

test('AS-56: bad PKCS#1 v1.5 padding gives pseudo-random bytes, never an error (implicit rejection)', () => {
  const bad = Buffer.alloc(256, 7);
  const open = () => privateDecrypt({ key: bob.privateKey, padding: constants.RSA_PKCS1_PADDING }, bad);
  assert.deepEqual(open(), open());
});

test('padding of every kind that is none is refused', () => {
  const key = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
  const iv = Buffer.from('0f0e0d0c0b0a09080706050403020100', 'hex');
  for (const block of [
    '00'.repeat(16),
    '11'.repeat(16),
    `${'00'.repeat(14)}0102`,
    `${'00'.repeat(14)}0202`,
    '10'.repeat(16),
    `11${'10'.repeat(15)}`,
  ]) {
    const cipher = createCipheriv('aes-128-cbc', key, iv).setAutoPadding(false);
    const encrypted = Buffer.concat([cipher.update(Buffer.from(block, 'hex')), cipher.final()]);
    const cms = forgeEnvelope({ content, certificate, changeCiphertext: () => encrypted });
    const isPadding = block.endsWith('0202') || block === '10'.repeat(16);
    if (isPadding) decryptCms(cms, [bob]);
    else assert.throws(() => decryptCms(cms, [bob]), { code: 'SMIME_DECRYPTION_FAILED' }, block);
  }
});

test('childless and foreign recipients are skipped in the report', () => {
  const opened = decryptCms(encryptCms([content], [bob2, bob]), [bob]);
  assert.equal(opened.recipients.length, 2);
  assert.ok(
    opened.recipients.some(
      (reference) =>
        'serialNumberDer' in reference &&
        Buffer.compare(reference.serialNumberDer, certificate.serialNumberDer) === 0,
    ),
  );
  assert.equal(childAt(readAsn1(encryptCms([content], [bob])), 0).tagNumber, tags.oid);
});
