/**
 * Contents of messages: composed from a request, read from received mail; large ones in worker threads.
 * Used by `service/messaging`.
 * Begin with this file for sending, `read-parts.ts` for receiving.
 */
import { finalDeliveryHeaders } from '../../../lib/mdn/index.ts';
import { type AttachmentInput, buildMessage } from '../../../lib/mime/index.ts';
import { xdmSubject } from '../../../lib/xdm/index.ts';
import type { Attachment } from '../request/read-attachments.ts';
import type { SendRequest } from '../request/read-send-request.ts';
import { type ComposeInput, findGivenPackage, packAttachments } from './pack-attachments.ts';

// A package goes with a text that a person can read (XDM-09), and so does any document: readers show what
// they take for the text.
export const packageText = 'The documents are in the attached package (XDM).';
const attachmentText = (count: number): string =>
  count === 1 ? 'The document is attached.' : 'The documents are attached.';

/**
 * Builds the plain RFC 5322 message of a send request (standards §4.3): text first, then loose attachments or
 * one XDM package. Nothing of the patient gets into a header.
 */
export async function composeMessage(input: ComposeInput): Promise<Buffer> {
  const { request } = input;
  const isXdm = request.flags.xdm === true;
  const text = composeText(request, isXdm);
  const attachments = isXdm ? await packAttachments(input) : request.attachments.map(toPart);
  const subject = isXdm ? xdmSubject(request.texts.messageSubject) : request.texts.messageSubject;
  return buildMessage({
    from: request.from,
    to: request.to,
    date: input.at,
    messageId: input.wireId,
    attachments,
    ...(subject === '' ? {} : { subject }),
    text: text.trim() === '' && attachments.length > 0 ? attachmentText(attachments.length) : text,
    ...(input.requestsFinalDelivery ? { headers: finalDeliveryHeaders(request.from) } : {}),
  });
}

// Inside a package that is made here the summary has its own place; without one the text is the only place
// that is not a header.
function composeText(request: SendRequest, isXdm: boolean): string {
  const { messageBody, patient_summary: summary } = request.texts;
  const isInside = isXdm && findGivenPackage(request) === undefined;
  const text = [messageBody, isInside ? '' : summary].filter((part) => part !== '').join('\n\n');
  return text.trim() === '' && isXdm ? packageText : text;
}

function toPart(attachment: Attachment): AttachmentInput {
  return {
    mediaType: attachment.mediaType,
    content: attachment.content,
    fileName: attachment.fileName,
    ...(attachment.title === '' ? {} : { title: attachment.title }),
  };
}
