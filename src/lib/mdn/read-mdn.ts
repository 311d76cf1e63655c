import { decodeWords, readMessageIds, stripComments } from '../mime/index.ts';
import { finalDeliveryField } from './final-delivery.ts';
import type { Disposition, Mdn } from './mdn-or-dsn.ts';
import type { ReportSource } from './report-source.ts';
import { readRecipientField } from './recipient-field.ts';
import { mergeBlocks, type FieldBlock } from './report-fields.ts';
import { threadIds } from './thread-ids.ts';

const dispositions: ReadonlySet<string> = new Set<Disposition>([
  'processed',
  'dispatched',
  'displayed',
  'deleted',
  'failed',
  'denied',
  'error',
]);
const failures: ReadonlySet<string | undefined> = new Set(['failed', 'denied', 'error']);

/** Reads a disposition notification; blank lines between its fields do not matter. */
export function readMdn({ message, reporter, blocks }: ReportSource): Mdn {
  const fields = mergeBlocks(blocks);
  const { disposition, modifiers } = readDisposition(fields.get('disposition') ?? '');
  const ownIds = readMessageIds(fields.get('original-message-id') ?? '');
  return {
    kind: 'mdn',
    disposition,
    modifiers,
    isFailure: failures.has(disposition) || (disposition !== undefined && modifiers.includes('error')),
    finalRecipient: readRecipientField(fields.get('final-recipient')),
    originalRecipient: readRecipientField(fields.get('original-recipient')),
    reporter,
    originalMessageIds: ownIds.length > 0 ? ownIds : threadIds(message),
    reportingUa: fields.get('reporting-ua'),
    explanation: decodeText(fields.get('failure') ?? fields.get('error') ?? fields.get('warning')),
    extensions: extensionsOf(fields),
    confirmsFinalDelivery: disposition === 'dispatched' && fields.has(finalDeliveryField.toLowerCase()),
  };
}

/** `automatic-action/MDN-sent-automatically; processed/error` (RFC 8098 §3.2.6), in any case and with any blanks. */
function readDisposition(value: string): Pick<Mdn, 'disposition' | 'modifiers'> {
  const type =
    stripComments(value)
      .split(';')
      .map((piece) => piece.trim())
      .filter((piece) => piece !== '')
      .at(-1) ?? '';
  const [name = '', rest = ''] = type.toLowerCase().replace(/\s+/g, '').split('/', 2);
  const modifiers = rest.split(',').filter((modifier) => modifier !== '');
  return isDisposition(name) ? { disposition: name, modifiers } : { disposition: undefined, modifiers: [] };
}

function isDisposition(name: string): name is Disposition {
  return dispositions.has(name);
}

function decodeText(value: string | undefined): string | undefined {
  return value === undefined ? undefined : decodeWords(value);
}

function extensionsOf(fields: FieldBlock): ReadonlyMap<string, string> {
  return new Map([...fields].filter(([name]) => name.startsWith('x-')));
}
