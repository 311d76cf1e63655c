import { decodeBody, readMailboxes, type MimeEntity } from '../mime/index.ts';
import type { ReportSource } from './report-source.ts';
import type { MdnOrDsn } from './mdn-or-dsn.ts';
import { readDsn } from './read-dsn.ts';
import { readMdn } from './read-mdn.ts';
import { readFieldBlocks, type FieldBlock } from './report-fields.ts';

const mdnTypes = new Set(['message/disposition-notification', 'message/global-disposition-notification']);
const dsnTypes = new Set(['message/delivery-status', 'message/global-delivery-status']);

/** True for a message that must never be answered by an MDN (MDN-02): any multipart/report, and bare report bodies. */
export function isReport(message: MimeEntity): boolean {
  const { mediaType } = message.contentType;
  return mediaType === 'multipart/report' || mdnTypes.has(mediaType) || dsnTypes.has(mediaType);
}

/**
 * Reads an MDN or DSN as leniently as peers demand (MDN-22); undefined for any other message. An MDN without its
 * machine-readable part is still an MDN, one that confirms nothing. The result is not trustworthy:
 * whether its signer may speak for the recipient is the caller's to verify (MDN-23, TRUST-10). Throws only MimeError of limits.
 */
export function readMdnOrDsn(message: MimeEntity): MdnOrDsn | undefined {
  if (!isReport(message)) return undefined;
  const candidates = message.parts.length === 0 ? [message] : message.parts;
  const reportType = (message.contentType.parameters.get('report-type') ?? '').trim().toLowerCase();
  const mdnPart = candidates.find((part) => mdnTypes.has(part.contentType.mediaType));
  if (mdnPart !== undefined) return readMdn(sourceOf(message, mdnPart));
  const dsnPart = candidates.find((part) => dsnTypes.has(part.contentType.mediaType));
  if (dsnPart !== undefined) return readDsn(sourceOf(message, dsnPart), candidates);
  if (reportType === 'disposition-notification') return readMdn(sourceOf(message, findUntyped(candidates)));
  return reportType === 'delivery-status'
    ? readDsn(sourceOf(message, findUntyped(candidates)), candidates)
    : undefined;
}

/** Gateways rewrite media types they do not know; the fields still identify the part. */
function findUntyped(candidates: readonly MimeEntity[]): MimeEntity | undefined {
  return candidates
    .slice(1)
    .find((part) =>
      /^(?:reporting-(?:ua|mta)|final-recipient|disposition)[ \t]*:/im.test(
        decodeBody(part).toString('latin1', 0, 4000),
      ),
    );
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
