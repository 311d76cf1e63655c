import { viewAsBuffer } from '../../core/index.ts';
import { PkiError } from './errors.ts';

/** One block of text armour (RFC 7468), for example label `CERTIFICATE`. */
export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
}

const block = /-----BEGIN ([A-Z0-9 #]{1,40})-----([^-]*)-----END \1-----/g;

/** Blocks may be empty, so that a file of some megabytes has room for hundreds of thousands. */
const maxBlocks = 4_000;

/**
 * All blocks in order; text between them is ignored (RFC 7468 §2). Errors: `PKI_CERTIFICATE_SET_MALFORMED`,
 * `PKI_TOO_MANY_CERTIFICATES`.
 */
export function readPem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const [, label = '', body = ''] of text.matchAll(block)) {
    if (blocks.length === maxBlocks)
      throw new PkiError('PKI_TOO_MANY_CERTIFICATES', `more than ${maxBlocks} blocks`);
    // Headers inside a block (RFC 1421) mark an encrypted legacy key, which is not read.
    const base64 = body.replaceAll(/\s+/g, '');
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
      throw new PkiError('PKI_CERTIFICATE_SET_MALFORMED', `a ${label} block that is not base64`);
    }
    blocks.push({ label, der: Buffer.from(base64, 'base64') });
  }
  return blocks;
}

/** Text armour of some DER, with lines of 64 characters and a final line feed. */
export function formatPem(label: string, der: Uint8Array): string {
  const lines =
    viewAsBuffer(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** True if the bytes start like text armour, blanks or explanatory text before it included. */
export function isPem(bytes: Uint8Array): boolean {
  return viewAsBuffer(bytes).includes('-----BEGIN ');
}

/** The DER of the one block with that label, or the bytes themselves if they are no PEM. */
export function derOf(bytes: Uint8Array | string, label: string): Uint8Array {
  if (typeof bytes !== 'string' && !startsAsPem(bytes)) return bytes;
  const text = typeof bytes === 'string' ? bytes : viewAsBuffer(bytes).toString('latin1');
  const found = readPem(text).filter((candidate) => candidate.label.endsWith(label));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new PkiError('PKI_CERTIFICATE_MALFORMED', `${found.length} ${label} blocks where one is expected`);
  }
  return only.der;
}

function startsAsPem(bytes: Uint8Array): boolean {
  // DER of anything read here starts with a SEQUENCE.
  return bytes[0] !== 0x30 && isPem(bytes);
}
