/** Messages that must be accepted: the counterpart of every rule (AS-02, AS-39, AS-70 to AS-84, VER-02). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { der } from '../../src/lib/asn1/index.ts';
import { openMessage, verifySender } from '../../src/lib/direct/index.ts';
import { PkiError, readCertificate, readPrivateKey, type Certificate } from '../../src/lib/pki/index.ts';
import { encryptEntity, signEntity } from '../../src/lib/smime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import {
  cmsEntity,
  compressedEntity,
  forgeSignedData,
  forgeSigner,
  names,
} from '../peer-messages/forge-cms.ts';
import { refusedWith } from './support/refusals.ts';
import {
  createMessageWorld,
  inner,
  makeMessage,
  plainHeader,
  receive,
  replaced,
  signerOf,
  signWith,
  without,
  type MessageWorld,
  type Steps,
} from './support/test-messages.ts';
import { alice, at, bob, createTestPki, past } from './support/test-pki.ts';

/** As anybody can do who has a message in CBC mode: the first letter of what is encrypted, of `Content-Type`, changes its case. */
function withIvChanged(message: Buffer): Buffer {
  const [head = '', base64 = ''] = message.toString('latin1').split(/(?<=\r\n\r\n)/);
  const cms = Buffer.from(base64, 'base64');
  const cipher = der.oid(names.aes256Cbc);
  const iv = cms.indexOf(cipher) + cipher.length + 2;
  cms.writeUInt8(cms.readUInt8(iv) ^ 0x20, iv);
  return Buffer.from(`${head}${cms.toString('base64')}`, 'latin1');
}

test('RFC 8551 §3.1.1: a message whose signed content was stored with LF, signed with CRLF, is accepted', () => {
  const folder = path.join(import.meta.dirname, '../fixtures/found/smime');
  const read = (name: string): Buffer => readFileSync(path.join(folder, name));
  const key = { certificate: readCertificate(read('own.pem')), privateKey: readPrivateKey(read('own.key')) };
  const message = read('lf-content-inside-encryption.eml');
  const { signers } = openMessage({ message, keys: [key] });
  assert.deepEqual(
    signers.map(({ outcome }) => outcome),
    ['valid'],
  );
});

describe('accepted messages', () => {
  let world: MessageWorld;
  before(async () => {
    world = createMessageWorld(await createTestPki());
  });

  test('AS-70 a good message gives its sender, the path and the recipients', async () => {
    const verified = await receive(world, makeMessage(world));
    assert.equal(verified.sender, alice);
    assert.deepEqual(verified.recipients, [bob]);
    assert.equal(verified.path.anchor.fingerprint, world.pki.root.certificate.fingerprint);
  });

  const unquoted = [
    'Smith, Bob MD',
    'Joe Foo, PhD, RN',
    'iZotope, Inc.',
    'HowlRound: A Center for the Commons',
    'Clinic; North',
    'Doe, Jane (Cardiology)',
    '"Jane" Doe, MD',
    '=?utf-8?Q?Smith,_Bob?=',
    'Müller, Jörg',
    'Bob @ Clinic',
    'Bob [Clinic]',
    'Bob MD.,',
    ', Bob',
    'Smith,Bob',
    "O'Brien, Pat",
    'Smith, Bob & Partner / North',
    'CLINIC\\bob, MD',
    'a, b, c, d',
    alice,
    alice.toUpperCase(),
    `Smith, ${alice}`,
    'alice@clinic.example',
    'mallory@direct.alpha.example',
  ];
  for (const name of unquoted) {
    test(`AS-79 the display name ${name}, without quotes, does not matter for the signer's own address`, async () => {
      const verified = await receive(world, makeMessage(world, inner(replaced(`From: ${name} <${alice}>`))));
      assert.equal(verified.sender, alice);
    });
  }

  test('RFC 8551 §3.5: compressed content is opened, inside the signature or in the wrapped message', async () => {
    const text = Buffer.from('Content-Type: text/plain\r\n\r\nHello.\r\n');
    const header = plainHeader.filter((line) => !line.startsWith('Content-Type'));
    const whole = Buffer.concat([Buffer.from(`${header.join('\r\n')}\r\n`), compressedEntity(text)]);
    const asBytes = { type: 'enveloped-data' };
    for (const steps of [
      { sign: (entity: Uint8Array) => signEntity(compressedEntity(entity), [world.signer], { at }) },
      { inner: whole },
      // As it is labeled does not matter.
      { sign: (entity: Uint8Array) => signEntity(compressedEntity(entity, asBytes), [world.signer], { at }) },
    ]) {
      const message = makeMessage(world, steps);
      const { inner: opened } = openMessage({ message, keys: [world.recipient] });
      assert.match(
        Buffer.from(opened).toString(),
        /^From: alice[^]*Content-Type: text\/plain[^]*\r\n\r\nHello\.\r\n$/,
      );
      assert.equal((await receive(world, message)).sender, alice);
    }
  });

  test('AS-75 the outer header plays no part', async () => {
    const outerHeader = [
      'From: mallory@evil.example',
      'To: x@y.example',
      'Subject: other',
      'MIME-Version: 1.0',
    ];
    assert.equal((await receive(world, makeMessage(world, { outerHeader }))).sender, alice);
  });

  test('AS-76 one valid signer is enough, in any position', async () => {
    const good = world.signer;
    const untrusted = signerOf(world.pki, { issuer: world.pki.untrustedCa });
    const expired = signerOf(world.pki, { notAfter: past(1) });
    const unbound = signerOf(world.pki, { rfc822Names: ['mallory@direct.alpha.example'] });
    for (const keys of [
      [good, untrusted],
      [untrusted, good],
      [expired, untrusted, good],
      [unbound, good],
    ]) {
      const { signer } = await receive(world, makeMessage(world, { sign: signWith(keys) }));
      assert.deepEqual(signer.certificate, good.certificate.der);
    }
  });

  test('AS-76 a signature that does not verify next to a valid one takes nothing from it, and gives nothing', async () => {
    const opened = openMessage({ message: makeMessage(world), keys: [world.recipient] });
    const invalid = { outcome: 'invalid', code: 'SMIME_SIGNATURE_INVALID', text: 'not verified' } as const;
    const trust = { at, anchors: world.anchors };
    const { signer } = await verifySender(
      { ...opened, signers: [invalid, ...opened.signers] },
      undefined,
      trust,
    );
    assert.deepEqual(signer.certificate, world.signer.certificate.der);
    await refusedWith('DIRECT_SENDER_SIGNATURE_MISSING', () =>
      verifySender({ ...opened, signers: [invalid] }, undefined, trust),
    );
  });

  test('AS-76 an intermediate certificate inside the message completes the path', async () => {
    const { intermediate } = world.pki;
    const keys = [signerOf(world.pki, { issuer: intermediate })];
    const verified = await receive(
      world,
      makeMessage(world, { sign: signWith(keys, [intermediate.certificate]) }),
    );
    assert.equal(verified.path.certificates.length, 3);
  });

  test('AS-79 Sender speaks for several From mailboxes, and only it is verified', async () => {
    const header = [
      ...replaced('From: carol@direct.alpha.example, dan@direct.alpha.example'),
      `Sender: ${alice}`,
    ];
    assert.equal((await receive(world, makeMessage(world, inner(header)))).sender, alice);
  });

  test('AS-02, AS-03 case and display names do not count', async () => {
    const header = [
      ...without('From').filter((line) => !line.startsWith('To:')),
      'From: "Dr. A" <ALICE@direct.Alpha.example>',
      'To: "B, b" <BOB@DIRECT.beta.example>',
    ];
    const verified = await receive(world, makeMessage(world, inner(header)));
    assert.equal(verified.sender, 'ALICE@direct.Alpha.example');
  });

  test('AS-39 the envelope check can be disabled', async () => {
    const options = {
      envelope: { mailFrom: 'x@y.example', recipients: [] },
      messagePolicy: { requireEnvelopeMatch: false },
    };
    assert.equal((await receive(world, makeMessage(world), options)).sender, alice);
  });

  test('VER-02 an unwrapped message gets its header from outside, without fields that only describe the outer content', async () => {
    const wrap = (): Buffer => Buffer.from('Content-Type: text/plain\r\n\r\nHello.\r\n');
    const outerHeader = plainHeader.filter((line) => !line.startsWith('Content-'));
    const message = makeMessage(world, { wrap, outerHeader });
    const opened = openMessage({ message, keys: [world.recipient] });
    assert.equal(opened.wasWrapped, false);
    assert.doesNotMatch(Buffer.from(opened.inner).toString(), /pkcs7|MIME-Version[^]*MIME-Version/);
    assert.match(
      Buffer.from(opened.inner).toString(),
      /^From: alice@direct\.alpha\.example\r\n[^]*\r\nMIME-Version: 1\.0\r\nContent-Type: text\/plain\r\n\r\nHello\.\r\n$/,
    );
    assert.equal((await receive(world, message)).sender, alice);
  });

  test('VER-02 an unwrapped message is the same under every header, which nobody signed', async () => {
    const entity = (type: string) => (): Buffer =>
      Buffer.from(`Content-Type: ${type}\r\n\r\n--b\r\n\r\nHello.\r\n--b--\r\n`);
    const wrap = entity('multipart/mixed; boundary=b');
    const hashOf = (steps: Steps): string | undefined =>
      openMessage({ message: makeMessage(world, steps), keys: [world.recipient] }).signedHash;
    const others = [
      'Subject: other',
      'Message-ID: <other@direct.alpha.example>',
      'Date: Tue, 16 Jun 2026 12:00:00 +0000',
    ];
    const headers = [plainHeader, ...others.map(replaced)].map((lines) =>
      lines.filter((line) => !line.startsWith('Content-')),
    );
    const hashes = headers.map((lines) => hashOf({ wrap, outerHeader: lines }));
    assert.equal(new Set(hashes).size, 1);
    assert.match(hashes[0] ?? '', /^[0-9a-f]{64}$/);
    assert.equal(hashOf({}), undefined);
    // Two genuine messages may have the same short text; only a boundary tells that it is the same message.
    const text = { wrap: entity('text/plain'), outerHeader: headers[0] ?? [] };
    const signed = signEntity(text.wrap(), [world.signer], { at });
    const signedHash = hashOf({ ...text, sign: () => signed });
    assert.match(signedHash ?? '', /^[0-9a-f]{64}$/);
    assert.equal(hashOf({ sign: () => signed, outerHeader: headers[1] ?? [] }), signedHash);
    assert.notEqual(hashOf(text), signedHash, 'another message with the same text');
    const repeated = withIvChanged(makeMessage(world, { ...text, sign: () => signed }));
    assert.equal(openMessage({ message: repeated, keys: [world.recipient] }).signedHash, signedHash);
    const signer = forgeSigner({ key: world.signer, content: text.wrap() });
    const opaque = forgeSignedData({
      signers: [signer],
      certificates: [world.signer.certificate.der],
      content: text.wrap(),
    });
    assert.equal(hashOf({ ...text, sign: () => cmsEntity(opaque) }), undefined, 'no boundary');
  });

  test('SEC-14 content that AES-GCM protects may hold anything outside its signature', async () => {
    const message = makeMessage(world, {
      sign: (entity) => Buffer.concat([signEntity(entity, [world.signer], { at }), Buffer.alloc(16, 0xe1)]),
      encrypt: (content) =>
        encryptEntity(content, [{ certificate: world.recipient.certificate }], {
          contentCipher: 'aes-256-gcm',
        }),
    });
    assert.equal((await receive(world, message)).sender, alice);
  });

  test('VER-02 an unwrapped message in a file with LF is read like one with CRLF', async () => {
    const wrap = (): Buffer => Buffer.from('Content-Type: text/plain\r\n\r\nHello.\r\n');
    const outerHeader = [...plainHeader.filter((line) => !line.startsWith('Content-')), 'X-Folded: a\r\n b'];
    const message = makeMessage(world, { wrap, outerHeader });
    const stored = Buffer.from(message.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
    assert.equal((await receive(world, stored)).sender, alice);
    assert.deepEqual(
      openMessage({ message: stored, keys: [world.recipient] }).inner,
      openMessage({ message, keys: [world.recipient] }).inner,
    );
  });

  test('MDN-08 an MDN may come with a null reverse path', async () => {
    const header = replaced(
      'Content-Type: multipart/report; report-type=disposition-notification; boundary=x',
    );
    const verified = await receive(world, makeMessage(world, inner(header)), {
      envelope: { mailFrom: '', recipients: [bob] },
    });
    assert.equal(verified.sender, alice);
  });

  test('AS-84 a retired key, given last, still opens', async () => {
    const message = makeMessage(world);
    const current = {
      certificate: world.pki.issue({ rfc822Names: [bob] }),
      privateKey: world.pki.rsaKeys.privateKey,
    };
    const opened = openMessage({ message, keys: [current, world.recipient] });
    assert.equal(opened.decryptedBy, world.recipient.certificate.fingerprint);
  });

  describe('AS-83 which keys open', () => {
    const carol = parseDirectAddress('carol@direct.beta.example');
    const keyFor = (changes: Parameters<MessageWorld['pki']['issue']>[0]) => ({
      certificate: world.pki.issue(changes),
      privateKey: world.pki.rsaKeys.privateKey,
    });
    /** To bob, but encrypted to these keys, whoever they belong to. */
    const encryptedTo = (...keys: readonly { certificate: Certificate }[]) =>
      makeMessage(world, { encrypt: (content) => encryptEntity(content, keys) });

    test('a key that is not bound to the recipient opens nothing, with RCPT TO and without', async () => {
      const foreign = keyFor({ rfc822Names: [carol] });
      const message = encryptedTo(foreign);
      for (const recipients of [[bob], 'visible'] as const) {
        const error = await refusedWith('DIRECT_UNKNOWN_RECIPIENT', () =>
          openMessage({ message, keys: [foreign], recipients }),
        );
        assert.equal(error.kind, 'untrusted');
      }
    });

    test('among several keys the one that is bound to the recipient is used', () => {
      const foreign = keyFor({ rfc822Names: [carol] });
      const message = encryptedTo(foreign, world.recipient);
      for (const recipients of [[bob], 'visible'] as const) {
        const opened = openMessage({ message, keys: [foreign, world.recipient], recipients });
        assert.equal(opened.decryptedBy, world.recipient.certificate.fingerprint);
      }
    });

    test('a certificate for the whole domain opens for each of its addresses', () => {
      const ofDomain = keyFor({ rfc822Names: [], dnsNames: ['direct.beta.example'] });
      const message = encryptedTo(ofDomain);
      for (const recipients of [[bob], 'visible'] as const)
        assert.equal(
          openMessage({ message, keys: [ofDomain], recipients }).decryptedBy,
          ofDomain.certificate.fingerprint,
        );
    });
  });

  test('TRUST-05 a path that could not be finished is undecided, not refused', async () => {
    const keys = [
      signerOf(world.pki, { issuer: world.pki.intermediate, caIssuerUrls: ['http://aia.alpha.example/'] }),
    ];
    const fetchIssuers = () => Promise.reject(new PkiError('PKI_ISSUER_UNAVAILABLE', 'down'));
    const error = await refusedWith('DIRECT_SENDER_UNDECIDED', () =>
      receive(world, makeMessage(world, { sign: signWith(keys) }), { fetchIssuers }),
    );
    assert.equal(error.isTransient, true);
  });
});
