import { formatHeader, formatTextHeader } from '../mime/index.ts';
import { buildReport, formatOriginalId, oneLine, plainFieldText } from './build-report.ts';
import { finalDeliveryField } from './final-delivery.ts';

export interface MdnInput {
  readonly disposition: 'processed' | 'dispatched' | 'failed';
  /** The local recipient whose message the MDN reports; also its From. */
  readonly finalRecipient: string;
  /** The recipient of the MDN. */
  readonly originalSender: string;
  /** The octets of the original's Message-ID as `readHeaderOctets` reads them; undefined if it had none. */
  readonly originalMessageId: string | undefined;
  readonly reportingUa: { readonly host: string; readonly product: string };
  readonly date: Date;
  readonly messageId: string;
  /** For people. Must not contain any content of the original message. */
  readonly text?: string;
  /** Lines below the text; the same holds for them. */
  readonly remarks?: readonly string[];
  /** The sender asked for final delivery; a dispatched MDN then carries the field that confirms it. */
  readonly isFinalDelivery?: boolean;
  /** Why it failed; for `failed` only. */
  readonly failureText?: string;
}

const texts = {
  processed: 'Your message was received and processed.',
  dispatched: 'Your message was delivered to its final destination.',
  failed: 'Your message could not be delivered to its final destination.',
} as const;

/**
 * Builds a disposition notification (RFC 8098) as an RFC 5322 message, to be sealed like any other (MDN-03):
 * one recipient, no part of the original, no request for an MDN (MDN-01a, MDN-04 to MDN-08, MDN-10). Throws
 * MimeError.
 */
export function buildMdn(input: MdnInput): Buffer {
  const title = input.disposition.charAt(0).toUpperCase() + input.disposition.slice(1);
  return buildReport({
    from: input.finalRecipient,
    to: input.originalSender,
    date: input.date,
    messageId: input.messageId,
    originalMessageId: input.originalMessageId,
    subject: `${title}: message disposition notification`,
    reportType: 'disposition-notification',
    text: [input.text ?? texts[input.disposition], ...(input.remarks ?? [])].join('\r\n'),
    fields: formatFields(input),
  });
}

function formatFields(input: MdnInput): string {
  const { host, product } = input.reportingUa;
  const lines = [
    formatHeader('Reporting-UA', `${plainFieldText(host)}; ${plainFieldText(product)}`),
    formatHeader('Final-Recipient', `rfc822;${input.finalRecipient}`),
  ];
  lines.push(formatOriginalId('Original-Message-ID', input.originalMessageId));
  if (input.disposition === 'dispatched' && input.isFinalDelivery === true)
    lines.push(formatHeader(finalDeliveryField, ''));
  lines.push(formatHeader('Disposition', `automatic-action/MDN-sent-automatically;${input.disposition}`));
  if (input.disposition === 'failed' && input.failureText !== undefined)
    lines.push(formatTextHeader('Failure', oneLine(input.failureText)));
  return lines.join('');
}
