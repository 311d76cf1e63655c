import { formatDate, formatHeader } from '../mime/index.ts';
import { buildReport, formatOriginalId } from './build-report.ts';
import { MdnError } from './errors.ts';
import type { DsnAction } from './mdn-or-dsn.ts';

export interface DsnRecipientInput {
  readonly finalRecipient: string;
  readonly action: DsnAction;
  /** RFC 3463, for example `5.1.1`. */
  readonly status: string;
  /** Our error; written as printable ASCII. */
  readonly diagnostic?: string;
}

export interface DsnInput {
  /** Host name. */
  readonly reportingMta: string;
  readonly from: string;
  readonly to: string;
  readonly date: Date;
  readonly messageId: string;
  /** The octets of the original's Message-ID as `readHeaderOctets` reads them; undefined if it had none. */
  readonly originalMessageId: string | undefined;
  readonly recipients: readonly DsnRecipientInput[];
  readonly arrivedAt?: Date;
  readonly text?: string;
}

const statusForm = /^[245]\.\d{1,3}\.\d{1,3}$/;

/**
 * Builds a delivery status notification (RFC 3464) as an RFC 5322 message (DSN-01 to DSN-03). Throws
 * MDN_NO_RECIPIENTS, MDN_STATUS_CODE_INVALID or MimeError.
 */
export function buildDsn(input: DsnInput): Buffer {
  if (input.recipients.length === 0)
    throw new MdnError('MDN_NO_RECIPIENTS', 'A delivery status notification needs a recipient');
  return buildReport({
    from: input.from,
    to: input.to,
    date: input.date,
    messageId: input.messageId,
    originalMessageId: input.originalMessageId,
    subject: input.recipients.some(({ action }) => action === 'failed')
      ? 'Undeliverable: delivery status notification'
      : 'Delivery status notification',
    reportType: 'delivery-status',
    text: input.text ?? defaultText(input.recipients),
    fields: [formatMessageFields(input), ...input.recipients.map(formatRecipientFields)].join('\r\n'),
  });
}

function defaultText(recipients: readonly DsnRecipientInput[]): string {
  const lines = recipients.map(
    ({ finalRecipient, action, status, diagnostic }) =>
      `${finalRecipient}: ${action} (${status})${diagnostic === undefined ? '' : `, ${diagnostic}`}`,
  );
  return ['This is a report on the delivery of your message.', '', ...lines].join('\r\n');
}

function formatMessageFields(input: DsnInput): string {
  const lines = [formatHeader('Reporting-MTA', `dns;${input.reportingMta}`)];
  lines.push(formatOriginalId('X-Original-Message-ID', input.originalMessageId));
  if (input.arrivedAt !== undefined) lines.push(formatHeader('Arrival-Date', formatDate(input.arrivedAt)));
  return lines.join('');
}

function formatRecipientFields(recipient: DsnRecipientInput): string {
  if (!statusForm.test(recipient.status))
    throw new MdnError('MDN_STATUS_CODE_INVALID', 'A status code must look like 5.1.1');
  const lines = [
    formatHeader('Final-Recipient', `rfc822;${recipient.finalRecipient}`),
    formatHeader('Action', recipient.action),
    formatHeader('Status', recipient.status),
  ];
  const diagnostic =
    recipient.diagnostic
      ?.replace(/[^ -~]+/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 500) ?? '';
  if (diagnostic !== '') lines.push(formatHeader('Diagnostic-Code', `x-direct;${diagnostic}`));
  return lines.join('');
}
