import { concatBytes } from '../../core/index.ts';
import { formatHeader, formatMailbox, readMailboxes, type MimeEntity } from '../mime/index.ts';
import { addressKey, findDirectAddress, type DirectAddress } from '../values/index.ts';

/** The unencrypted fields, for routing and threading, in this order (AS-35). Never the subject. */
const copiedFields = [
  'from',
  'to',
  'cc',
  'date',
  'orig-date',
  'message-id',
  'in-reply-to',
  'references',
] as const;

/**
 * Header fields of the outer message, each ended by CRLF, without the closing blank line. To and Cc name only
 * the recipients that the message goes to (AS-42); everything else is repeated as it stands inside. Display
 * names, which may reveal a patient's care, are not repeated.
 */
export function buildOuterHeader(inner: MimeEntity, recipients: readonly DirectAddress[]): Buffer {
  const kept = new Set(recipients.map(addressKey));
  const lines = copiedFields.flatMap((name) =>
    inner.headers(name).map((value) => outerField(name, value, kept)),
  );
  return concatBytes([
    Buffer.from('MIME-Version: 1.0\r\n', 'latin1'),
    ...lines.map((line) => Buffer.from(line, 'latin1')),
  ]);
}

const properNames: Readonly<Record<string, string>> = {
  'message-id': 'Message-ID',
  'in-reply-to': 'In-Reply-To',
  'orig-date': 'Orig-Date',
};

function outerField(name: (typeof copiedFields)[number], value: string, kept: ReadonlySet<string>): string {
  const proper = properNames[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const isRecipients = name === 'to' || name === 'cc';
  if (!isRecipients && name !== 'from') return formatHeader(proper, value);
  const mailboxes = readMailboxes(value)
    .flatMap(({ address }) => findDirectAddress(address) ?? [])
    .filter((address) => !isRecipients || kept.has(addressKey(address)));
  return mailboxes.length === 0
    ? ''
    : formatHeader(proper, mailboxes.map((address) => formatMailbox(address)).join(', '));
}
