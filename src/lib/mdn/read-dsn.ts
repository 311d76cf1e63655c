import {
  decodeBody,
  type MimeEntity,
  parseEntity,
  readMessageIds,
  stripComments,
  unwrapEntity,
} from '../mime/index.ts';
import type { Dsn, DsnAction, DsnRecipient } from './mdn-or-dsn.ts';
import {
  type FieldBlock,
  mergeBlocks,
  readNamedIds,
  readRecipientField,
  type ReportSource,
  threadIds,
} from './report-fields.ts';

const actions: ReadonlySet<string> = new Set<DsnAction>([
  'failed',
  'delayed',
  'delivered',
  'relayed',
  'expanded',
]);

/** Reads a delivery status notification (RFC 3464 §2); `parts` are those of the report. */
export function readDsn({ message, reporter, blocks }: ReportSource, parts: readonly MimeEntity[]): Dsn {
  const [perMessage, recipientBlocks] = separateBlocks(blocks);
  return {
    kind: 'dsn',
    recipients: recipientBlocks.map(readRecipient),
    reporter,
    originalMessageIds: originalIds(message, perMessage, parts),
    reportingMta: perMessage
      .get('reporting-mta')
      ?.replace(/^\s*dns\s*;\s*/i, '')
      .trim(),
  };
}

/**
 * Blocks without a recipient belong to the one before, since some senders put blank lines between all fields.
 */
function separateBlocks(blocks: readonly FieldBlock[]): [FieldBlock, FieldBlock[]] {
  const recipients: FieldBlock[] = [];
  const perMessage: FieldBlock[] = [];
  for (const block of blocks) {
    const last = recipients.at(-1);
    const begins = block.has('final-recipient')
      ? last === undefined || last.has('final-recipient')
      : block.has('original-recipient');
    if (begins) recipients.push(block);
    else if (last === undefined) perMessage.push(block);
    else recipients.splice(-1, 1, mergeBlocks([last, block]));
  }
  return [mergeBlocks([...perMessage, ...recipients.slice(0, 1)]), recipients];
}

function readRecipient(fields: FieldBlock): DsnRecipient {
  const name = /^\s*(\w+)/.exec(stripComments(fields.get('action') ?? ''))?.[1]?.toLowerCase() ?? '';
  const action = name.startsWith('fail') ? 'failed' : isAction(name) ? name : undefined;
  const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '')?.[0];
  return {
    finalRecipient:
      readRecipientField(fields.get('final-recipient')) ??
      readRecipientField(fields.get('original-recipient')),
    originalRecipient: readRecipientField(fields.get('original-recipient')),
    action,
    status,
    diagnostic: fields.get('diagnostic-code')?.slice(0, 1000),
    isFailure: action === 'failed' || (action === undefined && status?.startsWith('5') === true),
  };
}

function isAction(name: string): name is DsnAction {
  return actions.has(name);
}

function originalIds(message: MimeEntity, fields: FieldBlock, parts: readonly MimeEntity[]): string[] {
  const named = [...fields]
    .filter(([name]) => name.endsWith('original-message-id'))
    .flatMap(([, value]) => readNamedIds(value));
  const threaded = named.length > 0 ? named : threadIds(message);
  const best = threaded.length > 0 ? threaded : returnedIds(parts);
  return [...new Set([...best, ...readMessageIds(fields.get('original-envelope-id') ?? '')])];
}

/** The Message-ID of the returned message or of its headers, the report's third part (RFC 6522 §3). */
function returnedIds(parts: readonly MimeEntity[]): string[] {
  for (const part of parts) {
    const { mediaType } = part.contentType;
    const bytes = mediaType === 'text/rfc822-headers' ? decodeBody(part) : unwrapEntity(part);
    if (bytes !== undefined) return readMessageIds(parseEntity(bytes).header('message-id') ?? '');
  }
  return [];
}
