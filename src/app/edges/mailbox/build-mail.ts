import { buildDsn, buildMdn } from '../../../lib/mdn/index.ts';
import { buildMessage } from '../../../lib/mime/index.ts';
import { domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import type { InboundAttachmentPayload, InboundPayload, Outcome } from '../../../service/messaging/index.ts';

/**
 * The outcome of one recipient: an MDN if the message was delivered, else a DSN. The same octets each time,
 * because clients rely on the size that they were told.
 */
export function buildMdnOrDsn(outcome: Outcome, hostname: string): Buffer {
  const { sender, address, wireId, at, text, statusCode, recipientId } = outcome;
  const from = `postmaster@${domainOf(sender as DirectAddress)}`;
  const messageId = `<${recipientId}.${outcome.state}@${hostname}>`;
  if (outcome.isDelivered)
    return buildMdn({
      disposition: outcome.state === 'dispatched' ? 'dispatched' : 'processed',
      finalRecipient: address,
      originalSender: sender,
      originalMessageId: wireId,
      reportingUa: { host: hostname, product: 'openhisp' },
      date: at,
      messageId,
      text: `Your message to ${address}: ${text}`,
    });
  // Nobody knows what became of one that expired: who sends it again must know that it may arrive twice.
  const fate = outcome.state === 'expired' ? 'may not have arrived' : 'was not delivered';
  return buildDsn({
    reportingMta: hostname,
    from,
    to: sender,
    date: at,
    messageId,
    originalMessageId: wireId,
    recipients: [
      { finalRecipient: address, action: 'failed', status: failureCode(statusCode), diagnostic: text },
    ],
    text: `Your message to ${address} ${fate}: ${text}`,
  });
}

/** A failure that is final has a permanent code, also if its last cause was a temporary one. */
const failureCode = (statusCode: string): string => statusCode.replace(/^[^5]/, '5');

/** A received message with its documents, or the package of them, as attachments: always the same octets. */
export function buildFromPayload(payload: InboundPayload): Buffer {
  const { envelopeInfo, messageSubject, messageBody, messageBodyClass, emailAttachmentList } = payload;
  const { fromDirectAddress, toDirectAddress, transitTime, wireMessageId, messageId } = envelopeInfo;
  const copyId = messageId.replace(/^urn:uuid:/, '');
  const isHtml = messageBodyClass === 'text/html';
  const attachments = emailAttachmentList.map((one) => ({
    mediaType: one.attachmentClass,
    content: Buffer.from(one.attachmentContent, 'base64'),
    ...(one.attachmentFileName === '' ? {} : { fileName: shownName(one) }),
  }));
  return buildMessage({
    from: fromDirectAddress,
    to: toDirectAddress,
    date: new Date(transitTime),
    messageId: /^<[^<>\s@]+@[^<>\s@]+>$/.test(wireMessageId) ? wireMessageId : `<${copyId}@openhisp.invalid>`,
    subject: messageSubject,
    text: isHtml || messageBody === '' ? ' ' : messageBody,
    attachments: isHtml
      ? [{ mediaType: 'text/html; charset=utf-8', content: Buffer.from(messageBody) }, ...attachments]
      : attachments,
  });
}

/** Readers of reports look for `.xml` in the name as it is written here. */
function shownName({ attachmentFileName, attachmentClass }: InboundAttachmentPayload): string {
  if (!/\bxml$/.test(attachmentClass)) return attachmentFileName;
  return attachmentFileName.replace(/(\.xml)?$/i, '.xml');
}
