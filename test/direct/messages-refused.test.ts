/** Messages that must be refused, each with its own reason (AS-39, AS-52 to AS-56, AS-70 to AS-79). */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CodedError } from '../../src/core/index.ts';
import { childAt, der, encodedBytes, isContext, readAsn1 } from '../../src/lib/asn1/index.ts';
import { DirectError, openMessage, verifySender } from '../../src/lib/direct/index.ts';
import { encryptCms, encryptEntity, signEntity } from '../../src/lib/smime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { forgeSignedData } from '../peer-messages/forge-cms.ts';
import { refusedWith } from './support/refusals.ts';
import {
  createMessageWorld,
  inner,
  makeMessage,
  plainHeader,
  plainMessage,
  receive,
  replaced,
  signerOf,
  signWith,
  without,
  type MessageWorld,
} from './support/test-messages.ts';
import { alice, at, bob, createTestPki, past } from './support/test-pki.ts';

type Options = Parameters<typeof receive>[2];

interface Case {
  readonly title: string;
  readonly code: string;
  /** The finding beneath, if it has its own code. */
  readonly reason?: string;
  readonly make: (world: MessageWorld) => Uint8Array;
  readonly options?: (world: MessageWorld) => Options;
}

const cases: readonly Case[] = [
  { title: 'AS-71 a message in the clear', code: 'DIRECT_NOT_ENCRYPTED', make: () => plainMessage() },
  {
    title: 'AS-71 signed only',
    code: 'DIRECT_NOT_ENCRYPTED',
    make: (world) => makeMessage(world, { encrypt: (content) => content }),
  },
  {
    title: 'AS-71 encrypted but not signed',
    code: 'DIRECT_NOT_SIGNED',
    make: (world) => makeMessage(world, { sign: (entity) => entity }),
  },
  {
    title: 'AS-71 an envelope inside an envelope',
    code: 'DIRECT_NOT_SIGNED',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) => encryptEntity(entity, [{ certificate: world.recipient.certificate }]),
      }),
  },
  {
    title: 'AS-71 an envelope in the place of the signature',
    code: 'DIRECT_NOT_SIGNED',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) =>
          withSignature(
            signWith([world.signer])(entity),
            encryptCms([entity], [{ certificate: world.recipient.certificate }]),
          ),
      }),
  },
  {
    title: 'RFC 5652 §5.1 signed data that says it is of another type',
    code: 'DIRECT_SIGNATURE_INVALID',
    reason: 'SMIME_SIGNED_CONTENT_TYPE_MISMATCH',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) =>
          withSignature(
            signWith([world.signer])(entity),
            forgeSignedData({ signers: [], contentType: '1.2.840.113549.1.9.16.1.27' }),
          ),
      }),
  },
  {
    title: 'AS-83 encrypted to somebody else',
    code: 'DIRECT_UNKNOWN_RECIPIENT',
    make: (world) =>
      makeMessage(world, {
        encrypt: (content) => encryptEntity(content, [{ certificate: world.signer.certificate }]),
      }),
  },
  {
    title: 'AS-77 altered after signing',
    code: 'DIRECT_SIGNATURE_INVALID',
    reason: 'SMIME_DIGEST_MISMATCH',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) =>
          Buffer.from(
            Buffer.from(signEntity(entity, [world.signer], { at }))
              .toString('latin1')
              .replace('Hello', 'Jello'),
            'latin1',
          ),
      }),
  },
  {
    title: 'AS-77 a header of the wrapped message altered after signing',
    code: 'DIRECT_SIGNATURE_INVALID',
    reason: 'SMIME_DIGEST_MISMATCH',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) =>
          Buffer.from(
            Buffer.from(signEntity(entity, [world.signer], { at }))
              .toString('latin1')
              .replace('about a', 'About a'),
            'latin1',
          ),
      }),
  },
  {
    title: 'AS-32 a third part next to the signature',
    code: 'DIRECT_SIGNATURE_INVALID',
    reason: 'SMIME_MULTIPART_SIGNED_MALFORMED',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) => {
          const text = Buffer.from(signEntity(entity, [world.signer], { at })).toString('latin1');
          const boundary = /boundary="([^"]+)"/.exec(text)?.[1] ?? '';
          return Buffer.from(
            text.replace(`--${boundary}--`, `--${boundary}\r\n\r\nmore\r\n--${boundary}--`),
            'latin1',
          );
        },
      }),
  },
  {
    title: 'SEC-14 bytes behind the signature that no signature covers and that are no text',
    code: 'DIRECT_UNSIGNED_NOT_TEXT',
    reason: 'SMIME_UNSIGNED_NOT_TEXT',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) => Buffer.concat([signEntity(entity, [world.signer], { at }), Buffer.alloc(16, 0xe1)]),
      }),
  },
  {
    title: 'TRUST-01 signed below an unknown CA',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_ISSUER_NOT_FOUND',
    make: (world) =>
      makeMessage(world, {
        sign: signWith(
          [signerOf(world.pki, { issuer: world.pki.untrustedCa })],
          [world.pki.untrustedCa.certificate],
        ),
      }),
  },
  {
    title: 'TRUST-02 no anchors configured',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_NO_ANCHORS',
    make: (world) => makeMessage(world),
    options: () => ({ anchors: [] }),
  },
  {
    title: 'TRUST-03 anchors of the other direction only',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_ISSUER_NOT_FOUND',
    make: (world) => makeMessage(world),
    options: (world) => ({ anchors: [world.pki.untrustedCa.certificate] }),
  },
  {
    title: 'AS-15 an expired signer',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_EXPIRED',
    make: (world) => makeMessage(world, { sign: signWith([signerOf(world.pki, { notAfter: past(1) })]) }),
  },
  {
    title: 'AS-17 a signer for servers only',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_EXTENDED_KEY_USAGE',
    make: (world) =>
      makeMessage(world, {
        sign: signWith([signerOf(world.pki, { extendedKeyUsage: ['1.3.6.1.5.5.7.3.1'] })]),
      }),
  },
  {
    title: 'AS-10 signed by another address of the same domain',
    code: 'DIRECT_SENDER_SIGNATURE_MISSING',
    make: (world) =>
      makeMessage(world, {
        sign: signWith([signerOf(world.pki, { rfc822Names: ['mallory@direct.alpha.example'] })]),
      }),
  },
  {
    title: 'AS-11 signed by the parent domain',
    code: 'DIRECT_SENDER_SIGNATURE_MISSING',
    make: (world) =>
      makeMessage(world, {
        sign: signWith([
          signerOf(world.pki, { rfc822Names: [], dnsNames: ['alpha.example', '*.alpha.example'] }),
        ]),
      }),
  },
  {
    title: 'AS-76 two signers, one trusted but not bound, one bound but not trusted',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_ISSUER_NOT_FOUND',
    make: (world) =>
      makeMessage(world, {
        sign: signWith([
          signerOf(world.pki, { rfc822Names: ['mallory@direct.alpha.example'] }),
          signerOf(world.pki, { issuer: world.pki.untrustedCa }),
        ]),
      }),
  },
  {
    title: 'AS-79 a From of somebody else than the signer',
    code: 'DIRECT_SENDER_SIGNATURE_MISSING',
    make: (world) => makeMessage(world, inner(replaced('From: carol@direct.alpha.example'))),
    options: () => ({ envelope: { recipients: [bob] } }),
  },
  {
    title: 'AS-79 a From without quotes of somebody else than the signer',
    code: 'DIRECT_SENDER_SIGNATURE_MISSING',
    make: (world) => makeMessage(world, inner(replaced('From: Smith, Bob <carol@direct.alpha.example>'))),
    options: () => ({ envelope: { recipients: [bob] } }),
  },
  {
    title: 'AS-79 a Sender of somebody else than the signer',
    code: 'DIRECT_SENDER_SIGNATURE_MISSING',
    make: (world) => makeMessage(world, inner([...plainHeader, 'Sender: carol@direct.alpha.example'])),
  },
  {
    title: 'AS-79 two From fields',
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world) => makeMessage(world, inner([...plainHeader, 'From: carol@direct.alpha.example'])),
  },
  {
    title: 'AS-79 two From fields, one of them no address',
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world) => makeMessage(world, inner([...plainHeader, 'From: Dr. Somebody'])),
  },
  {
    title: 'TRUST-11 a domain-bound signer below a CA for the mailboxes of another domain',
    code: 'DIRECT_SENDER_UNTRUSTED',
    reason: 'PKI_NAME_CONSTRAINT',
    make: (world) => {
      const { pki } = world;
      const issuer = pki.issueAuthority({
        nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } },
      });
      const signer = signerOf(pki, { issuer, rfc822Names: [], dnsNames: ['direct.alpha.example'] });
      return makeMessage(world, { sign: signWith([signer], [issuer.certificate]) });
    },
  },
  {
    title: 'AS-79 two Sender fields',
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world) => makeMessage(world, inner([...plainHeader, `Sender: ${alice}`, `Sender: ${alice}`])),
  },
  {
    title: 'AS-79 several From mailboxes without Sender',
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world) => makeMessage(world, inner(replaced(`From: ${alice}, carol@direct.alpha.example`))),
  },
  {
    title: 'AS-79 a second From mailbox that is no Direct address',
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world) => makeMessage(world, inner(replaced(`From: ${alice}, carol@[192.0.2.1]`))),
  },
  {
    title: 'AS-79 no From',
    code: 'DIRECT_NO_SENDER',
    make: (world) => makeMessage(world, inner(without('From'))),
  },
  {
    title: 'AS-79 a From that is no address',
    code: 'DIRECT_NO_SENDER',
    make: (world) => makeMessage(world, inner(replaced('From: Alice <alice>'))),
  },
  ...[
    `<mallory@direct.alpha.example> <${alice}>`,
    `<mallory@direct.alpha.example>${alice}`,
    `<${alice}> <mallory@direct.alpha.example>`,
    `"Alice" <${alice}> <mallory@direct.alpha.example>`,
    `mallory@direct.alpha.example, Smith, Alice <${alice}>`,
    `mallory@direct.alpha.example MD, Alice <${alice}>`,
    `mallory@direct.alpha.example; Alice <${alice}>`,
    `Team: mallory@direct.alpha.example; Alice <${alice}>`,
    `Smith, Alice <${alice}> x`,
    `Smith, Alice <${alice}>, `,
    `Smith, Alice <${alice}>, Bob <mallory@direct.alpha.example>`,
    `Smith, Alice <${alice}, mallory@direct.alpha.example>`,
    `Smith, Alice <<${alice}>>`,
    `Smith, Alice <@relay.example:${alice}>`,
    `Smith, Alice <${alice.replace('@', '(c)@(d')}>`,
    `Smith, Alice <${alice.replace('alpha', 'al(c)pha')}>`,
    `Smith, Alice "MD <${alice}>`,
    `Smith, Alice (MD <${alice}>`,
    `"mallory@direct.alpha.example" Smith, <${alice}>`,
    `Smith, (mallory@direct.alpha.example) <${alice}>`,
    `Smith, Alice \\<${alice}>`,
    `Smith, Alice <${alice}`,
    `Alice <${alice}`,
    `<@relay.example:${alice}>`,
    `Team: ${alice};`,
    `${alice},`,
    `${alice.replace('@', ' @')}`,
  ].map((value) => ({
    title: `AS-79 a From that two readers may understand differently: ${value}`,
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world: MessageWorld) => makeMessage(world, inner(replaced(`From: ${value}`))),
  })),
  ...(
    [
      ['NUL in From', replaced(`From: ${alice}\0`)],
      ['a bare CR in From', replaced(`From: ${alice}\r`)],
      ['a bare CR before another field', [...plainHeader, 'Keywords: s\rSender: ceo@direct.alpha.example']],
      ['a bare CR that ends the header early', [...plainHeader, 'Keywords: s\r\r']],
      ['a bare LF among CRLF', [...plainHeader, 'Keywords: s\nX-Other: t']],
      ['a From behind a line of blanks', [...without('From'), 'X-Folded: t', ' ', `From: ${alice}`]],
      ['NUL in any field', [...plainHeader, 'Keywords: s\0']],
      [
        'a From behind a line that is no field',
        [...plainHeader, 'no field', 'From: ceo@direct.alpha.example'],
      ],
      ['a Sender that is no mailbox', [...plainHeader, 'Sender: ceo']],
      ['two mailboxes in Sender', [...plainHeader, `Sender: ${alice}, ceo@direct.alpha.example`]],
    ] as const
  ).map(([title, header]) => ({
    title: `AS-79 ${title}`,
    code: 'DIRECT_SENDER_AMBIGUOUS',
    make: (world: MessageWorld) => makeMessage(world, { ...inner(header), wrap: wrapUnchanged }),
  })),
  {
    title: 'AS-39 neither To nor Cc',
    code: 'DIRECT_NO_RECIPIENTS',
    make: (world) => makeMessage(world, inner(without('To'))),
  },
  {
    title: 'AS-39 RCPT TO that is not in the message',
    code: 'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
    make: (world) => makeMessage(world),
    options: () => ({
      envelope: { mailFrom: alice, recipients: [bob, parseDirectAddress('carol@direct.beta.example')] },
    }),
  },
  {
    title: 'AS-39 RCPT TO that is only in Bcc',
    code: 'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
    make: (world) => makeMessage(world, inner([...replaced('To: dan@direct.beta.example'), `Bcc: ${bob}`])),
  },
  {
    title: 'AS-39 RCPT TO that is only in the outer header',
    code: 'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
    make: (world) => makeMessage(world, inner(replaced('To: dan@direct.beta.example'))),
  },
  {
    title: 'AS-39 MAIL FROM of somebody else',
    code: 'DIRECT_ENVELOPE_SENDER_MISMATCH',
    make: (world) => makeMessage(world),
    options: () => ({ envelope: { mailFrom: 'carol@direct.alpha.example', recipients: [bob] } }),
  },
  {
    title: 'MDN-08 a null reverse path on what is no MDN',
    code: 'DIRECT_ENVELOPE_SENDER_MISMATCH',
    make: (world) => makeMessage(world),
    options: () => ({ envelope: { mailFrom: '', recipients: [bob] } }),
  },
  {
    title: 'VER-02 no wrapper where one is asked for',
    code: 'DIRECT_NOT_WRAPPED',
    make: (world) =>
      makeMessage(world, { wrap: () => Buffer.from('Content-Type: text/plain\r\n\r\nHello.\r\n') }),
    options: () => ({ messagePolicy: { acceptUnwrapped: false } }),
  },
  ...['Content-Type: text/plain\r\n', 'Content-Type: message/rfc822\r\n'].map((first): Case => ({
    title: `RFC 2045 §5 a wrapper of two types, of which the first is ${first.slice(14).trim()}`,
    code: 'DIRECT_MESSAGE_MALFORMED',
    make: (world) =>
      makeMessage(world, {
        wrap: (message) =>
          Buffer.concat([
            Buffer.from(
              `${first}Content-Type: ${first.includes('822') ? 'text/plain' : 'message/rfc822'}\r\n\r\n`,
            ),
            message,
          ]),
      }),
  })),
  {
    title: 'a policy that would switch checks off by accident',
    code: 'DIRECT_POLICY_INVALID',
    make: (world) => makeMessage(world),
    options: () => ({ messagePolicy: { requireEnvelopeMatch: undefined as never } }),
  },
  {
    title: 'AS-54 authenticated encryption whose tag does not fit',
    code: 'DIRECT_ENCRYPTION_INVALID',
    reason: 'SMIME_DECRYPTION_FAILED',
    make: (world) => {
      const recipients = [{ certificate: world.recipient.certificate }];
      const text = makeMessage(world, {
        encrypt: (content) => encryptEntity(content, recipients, { contentCipher: 'aes-256-gcm' }),
      }).toString('latin1');
      const bodyAt = text.indexOf('\r\n\r\n') + 4;
      const cms = Buffer.from(text.slice(bodyAt), 'base64');
      cms[cms.length - 1] = (cms.at(-1) ?? 0) ^ 1;
      return Buffer.from(text.slice(0, bodyAt) + cms.toString('base64'), 'latin1');
    },
  },
  {
    title: 'AS-73 signed data without any certificate',
    code: 'DIRECT_SENDER_CERTIFICATE_MISSING',
    reason: 'SMIME_CERTIFICATES_MISSING',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) => withoutCertificates(signEntity(entity, [world.signer], { at })),
      }),
  },
  {
    title: 'AS-73 signed data whose certificate cannot be read',
    code: 'DIRECT_SENDER_CERTIFICATE_UNREADABLE',
    reason: 'SMIME_CERTIFICATE_MALFORMED',
    make: (world) =>
      makeMessage(world, {
        sign: (entity) =>
          withoutCertificates(signEntity(entity, [world.signer], { at }), der.sequence(der.null())),
      }),
  },
  ...['7bit', 'x-unknown'].map((encoding) => ({
    title: `AS-81 an envelope in base64 that is labelled ${encoding}`,
    code: 'DIRECT_MESSAGE_MALFORMED',
    reason: 'SMIME_TRANSFER_ENCODING_INVALID',
    make: (world: MessageWorld) =>
      Buffer.from(
        makeMessage(world).toString('latin1').replace('Encoding: base64', `Encoding: ${encoding}`),
        'latin1',
      ),
  })),
  {
    title: 'SEC-11 CMS cut short, whose innermost cause is not in the words of the trust modules',
    code: 'DIRECT_MESSAGE_MALFORMED',
    reason: 'SMIME_CMS_MALFORMED',
    make: (world) => Buffer.concat([makeMessage(world).subarray(0, -600), Buffer.from('\r\n')]),
  },
  {
    title: 'SEC-11 CMS that is none',
    code: 'DIRECT_MESSAGE_MALFORMED',
    make: (world) => Buffer.concat([makeMessage(world).subarray(0, -600), Buffer.from('\r\n')]),
  },
];

/** As a hostile sender wraps: without putting line ends right. */
function wrapUnchanged(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from('Content-Type: message/rfc822\r\n\r\n'), message]);
}

/** Cuts the certificates out of the signature of a multipart/signed entity, and may put others there. */
function withoutCertificates(signed: Uint8Array, ...others: readonly Uint8Array[]): Buffer {
  const { base64 } = splitAtSignature(signed);
  const signedData = childAt(childAt(readAsn1(Buffer.from(base64, 'base64')), 1), 0);
  const rest = signedData.children.filter((part) => !isContext(part, 0)).map(encodedBytes);
  if (others.length > 0) rest.splice(3, 0, der.implicit(0, true, ...others));
  const cms = der.sequence(der.oid('1.2.840.113549.1.7.2'), der.explicit(0, der.sequence(...rest)));
  return withSignature(signed, cms);
}

/** A multipart/signed entity with other CMS in the place of its signature. */
function withSignature(signed: Uint8Array, cms: Buffer): Buffer {
  const { head, tail } = splitAtSignature(signed);
  return Buffer.from(`${head}${cms.toString('base64')}\r\n${tail}`, 'latin1');
}

function splitAtSignature(signed: Uint8Array): { head: string; base64: string; tail: string } {
  const text = Buffer.from(signed).toString('latin1');
  const [, head = '', base64 = '', tail = ''] = /^([^]*\.p7s\r\n\r\n)([^-]*)(--[^]*)$/.exec(text) ?? [];
  return { head, base64, tail };
}

describe('messages that are refused', () => {
  let world: MessageWorld;
  before(async () => {
    world = createMessageWorld(await createTestPki());
  });

  for (const { title, code, reason, make, options } of cases) {
    test(`${title}: ${reason ?? code}`, async () => {
      const error = await refusedWith(code, () => receive(world, make(world), options?.(world)));
      assert.ok(error instanceof DirectError);
      if (reason !== undefined) assert.equal(error.reason, reason);
      assert.equal(error.isTransient, false);
    });
  }

  test('AS-77 a ciphertext bit flipped in each block is refused, or changes nothing that was signed', async () => {
    const message = makeMessage(world).toString('latin1');
    const bodyAt = message.indexOf('\r\n\r\n') + 4;
    const cms = Buffer.from(message.slice(bodyAt), 'base64');
    const original = openMessage({ message: Buffer.from(message, 'latin1'), keys: [world.recipient] });
    const codes = new Map<string, number>();
    for (let at = 0; at < cms.length; at += 16) {
      const altered = Buffer.from(cms);
      altered[at] = (altered[at] ?? 0) ^ 1;
      const code = await outcome(
        Buffer.from(`${message.slice(0, bodyAt)}${altered.toString('base64')}\r\n`, 'latin1'),
      );
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    async function outcome(bytes: Buffer): Promise<string> {
      try {
        const opened = openMessage({ message: bytes, keys: [world.recipient] });
        await verifySender(opened, undefined, { at, anchors: world.anchors });
        assert.deepEqual(opened.inner, original.inner);
        return 'accepted';
      } catch (error) {
        if (error instanceof CodedError) return error.code;
        throw error;
      }
    }
    // CBC leaves the unsigned MIME glue (preamble, boundary lines, part headers of the signature) open to change.
    assert.ok((codes.get('accepted') ?? 0) <= 30, JSON.stringify([...codes]));
    assert.ok((codes.get('DIRECT_SIGNATURE_INVALID') ?? 0) > 5, JSON.stringify([...codes]));
  });
});
