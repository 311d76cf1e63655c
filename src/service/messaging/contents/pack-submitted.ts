import {
  attachmentPieces,
  deriveBoundary,
  formatHeader,
  formatTextHeader,
  joinPieces,
  multipartPieces,
  parseEntity,
  textPieces,
} from '../../../lib/mime/index.ts';
import { uuidOf } from '../../../lib/values/index.ts';
import { buildXdm, xdmFileName, xdmSubject } from '../../../lib/xdm/index.ts';
import { deriveFileName } from '../request/attachment-types.ts';
import type { SubmittedMessage, SubmittedOptions } from '../request/read-submitted.ts';
import { packageText } from './compose-message.ts';
import { readParts } from './read-parts.ts';

const replaced = new Set(['subject', 'mime-version']);

/**
 * Packs the documents of a submitted message into one XDM package, where its account wants that (XDM-01 to
 * XDM-07). Its text and header stay, but for what describes the content. A message without documents, or that
 * has a package, goes as it was submitted.
 */
export async function packSubmitted(
  submitted: SubmittedMessage,
  { packing, from, to, now }: SubmittedOptions,
): Promise<SubmittedMessage> {
  if (packing === undefined || submitted.isXdm) return submitted;
  const entity = parseEntity(submitted.message);
  const { subject, body, attachments } = readParts(entity);
  const isPlain = body !== undefined && body.mediaType === 'text/plain';
  const documents = [
    ...(body === undefined || isPlain ? [] : [body]),
    ...attachments.filter(({ isBody }) => !isBody).map(({ part }) => part),
  ];
  if (documents.length === 0) return submitted;
  const text = isPlain ? body.text() : '';
  const uuid = uuidOf(submitted.messageId);
  const content = await buildXdm({
    from,
    to,
    messageUuid: uuid,
    subject,
    body: text,
    author: { institution: packing.authorInstitution },
    documents: documents.map((part, index) => ({
      mediaType: part.mediaType,
      content: part.content(),
      fileName: part.fileName ?? deriveFileName(part.mediaType, index + 1),
      title: part.title,
    })),
    sourceId: packing.identity.sourceOid,
    codes: packing.identity.xdmCodes,
    at: now,
  });
  const kept = entity.headerFields.filter(({ name }) => {
    const key = name.toLowerCase();
    return !replaced.has(key) && !key.startsWith('content-');
  });
  const message = joinPieces([
    ...kept.map(({ raw }) => ({ bytes: raw })),
    {
      bytes: Buffer.from(
        formatTextHeader('Subject', xdmSubject(subject)) + formatHeader('MIME-Version', '1.0'),
      ),
    },
    ...multipartPieces('multipart/mixed', deriveBoundary(submitted.wireId), [
      textPieces(text.trim() === '' ? packageText : text),
      attachmentPieces({ mediaType: 'application/zip', content, fileName: xdmFileName(uuid) }),
    ]),
  ]);
  return { ...submitted, message, isXdm: true };
}
