import { decodeBody, type MimeEntity, readMailboxes } from '../mime/index.ts';
import { findReport } from './find-report.ts';
import type { MdnOrDsn } from './mdn-or-dsn.ts';
import { readDsn } from './read-dsn.ts';
import { readMdn } from './read-mdn.ts';
import { type FieldBlock, readFieldBlocks, type ReportSource } from './report-fields.ts';

/**
 * Reads the MDN or DSN that a message is or carries, as leniently as peers demand (MDN-22); undefined for any
 * other message. An MDN without its machine-readable part is still an MDN, one that confirms nothing. The
 * result is not trustworthy: whether its signer may speak for the recipient is the caller's to verify
 * (MDN-23, TRUST-10). Throws only MimeError of limits.
 */
export function readMdnOrDsn(message: MimeEntity): MdnOrDsn | undefined {
  const found = findReport(message);
  if (found?.kind === undefined) return undefined;
  const source = sourceOf(found.message, found.part);
  return found.kind === 'mdn' ? readMdn(source) : readDsn(source, found.parts);
}

function sourceOf(message: MimeEntity, part: MimeEntity | undefined): ReportSource {
  const reporter = readMailboxes(message.header('from') ?? '').at(0)?.address;
  return { message, reporter, blocks: part === undefined ? [] : readPartBlocks(message, part) };
}

/** Old agents forget the blank line, so that the fields stand among the part's own header fields. */
function readPartBlocks(message: MimeEntity, part: MimeEntity): FieldBlock[] {
  const blocks = readFieldBlocks(decodeBody(part));
  if (part === message || blocks.some((block) => block.has('disposition') || block.has('final-recipient')))
    return blocks;
  const head = new Map(part.headerFields.map((field) => [field.name.toLowerCase(), field.value]));
  return head.has('disposition') || head.has('final-recipient') ? [head, ...blocks] : blocks;
}
