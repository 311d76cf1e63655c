import {
  openMessage,
  verifySender,
  type Envelope,
  type VerifiedSender,
} from '../../../src/lib/direct/index.ts';
import { wrapMessage } from '../../../src/lib/mime/index.ts';
import type { Certificate } from '../../../src/lib/pki/index.ts';
import {
  encryptEntity,
  signEntity,
  type DecryptionKey,
  type SigningKey,
} from '../../../src/lib/smime/index.ts';
import { alice, at, bob, type TestPki } from './test-pki.ts';

/** A sender, a recipient, and the anchors of the recipient's side. */
export interface MessageWorld {
  readonly pki: TestPki;
  readonly signer: SigningKey;
  readonly recipient: DecryptionKey;
  readonly anchors: readonly Certificate[];
}

export function createMessageWorld(pki: TestPki): MessageWorld {
  const recipientCertificate = pki.issue({ subject: [['CN', 'bob']], rfc822Names: [bob] });
  return {
    pki,
    signer: signerOf(pki, {}),
    recipient: { certificate: recipientCertificate, privateKey: pki.rsaKeys.privateKey },
    anchors: [pki.root.certificate],
  };
}

export function signerOf(pki: TestPki, changes: Parameters<TestPki['issue']>[0]): SigningKey {
  return { certificate: pki.issue(changes), privateKey: pki.rsaKeys.privateKey };
}

export const plainHeader = [
  `From: ${alice}`,
  `To: ${bob}`,
  'Subject: about a patient',
  'Date: Mon, 15 Jun 2026 12:00:00 +0000',
  'Message-ID: <m1@direct.alpha.example>',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
];

export function plainMessage(header: readonly string[] = plainHeader, body = 'Hello.\r\n'): Buffer {
  return Buffer.from(`${header.join('\r\n')}\r\n\r\n${body}`, 'utf8');
}

export interface Steps {
  readonly inner?: Uint8Array;
  readonly wrap?: (inner: Uint8Array) => Uint8Array;
  readonly sign?: (entity: Uint8Array) => Uint8Array;
  readonly encrypt?: (content: Uint8Array) => Uint8Array;
  readonly outerHeader?: readonly string[];
}

/** Makes an outer message step by step, any of which a test may replace. */
export function makeMessage(world: MessageWorld, steps: Steps = {}): Buffer {
  const {
    inner = plainMessage(),
    wrap = wrapMessage,
    sign = (entity) => signEntity(entity, [world.signer], { at }),
    encrypt = (content) => encryptEntity(content, [{ certificate: world.recipient.certificate }]),
    outerHeader = [`From: ${alice}`, `To: ${bob}`, 'MIME-Version: 1.0'],
  } = steps;
  const header = outerHeader.map((line) => `${line}\r\n`).join('');
  return Buffer.concat([Buffer.from(header, 'utf8'), encrypt(sign(wrap(inner)))]);
}

/** Signs with several keys, of which each certificate comes from its own issuer. */
export function signWith(keys: readonly SigningKey[], extraCertificates: readonly Certificate[] = []) {
  return (entity: Uint8Array): Uint8Array => signEntity(entity, keys, { at, extraCertificates });
}

/** Opens and verifies as a receiving HISP does. */
export async function receive(
  world: MessageWorld,
  message: Uint8Array,
  options: Partial<Parameters<typeof verifySender>[2]> & { readonly envelope?: Envelope } = {},
): Promise<VerifiedSender> {
  const { envelope = { mailFrom: alice, recipients: [bob] }, ...trust } = options;
  const policy = trust.messagePolicy;
  const opened = openMessage({ message, keys: [world.recipient], ...(policy && { policy }) });
  return verifySender(opened, envelope, { at, anchors: world.anchors, ...trust });
}

/** The plain header with one field replaced, or left out, and a message with such a header. */
export const replaced = (line: string): string[] => {
  const name = line.slice(0, line.indexOf(':') + 1);
  return plainHeader.map((other) => (other.startsWith(name) ? line : other));
};
export const without = (name: string): string[] => plainHeader.filter((line) => !line.startsWith(`${name}:`));
export const inner = (header: readonly string[]): Steps => ({ inner: plainMessage(header) });
