import { createHash } from 'node:crypto';
import { sealMessage } from '../../src/lib/direct/index.ts';
import type { Certificate } from '../../src/lib/pki/index.ts';
import { at, recipient, recipientKey, senderKey } from './keys.ts';

export interface Size {
  readonly label: string;
  readonly attachmentBytes: number;
}

/** By the size of the attachment; in base64 with its headers the message is 1.37 times as long. */
export const sizes: readonly Size[] = [
  { label: '1 kB', attachmentBytes: 1_000 },
  { label: '100 kB', attachmentBytes: 100_000 },
  { label: '5 MB', attachmentBytes: 5_000_000 },
  { label: '25 MB', attachmentBytes: 25_000_000 },
];

/** A plain message with one attachment whose bytes do not repeat. */
export function buildPlain({ attachmentBytes }: Size): Buffer {
  const blocks: Buffer[] = [];
  for (let size = 0; size < attachmentBytes; size += 32)
    blocks.push(createHash('sha256').update(`block ${size}`).digest());
  const base64 = Buffer.concat(blocks, attachmentBytes)
    .toString('base64')
    .replace(/.{1,76}/g, '$&\r\n');
  const head =
    'From: alice@direct.alpha.example\r\nTo: bob@direct.beta.example\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\n' +
    'Message-ID: <bench@direct.alpha.example>\r\nSubject: bench\r\nMIME-Version: 1.0\r\n' +
    'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n';
  return Buffer.from(head + base64, 'latin1');
}

export function seal(message: Uint8Array, certificate: Certificate = recipientKey.certificate): Uint8Array {
  return sealMessage({
    message,
    signers: [senderKey],
    recipients: [{ address: recipient, certificates: [certificate] }],
    at,
  }).message;
}
