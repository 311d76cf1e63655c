import {
  attachmentPieces,
  deriveBoundary,
  formatHeader,
  formatTextHeader,
  joinPieces,
  measureSafety,
  multipartPieces,
  parseEntity,
  textPieces,
  type MessagePart,
  type MimeEntity,
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
 * XDM-07). Its text, with the images in it, and its header stay, but for what describes the content. A report
 * (RFC 6522), and a message without documents or with a package, goes as it was submitted.
 */
export async function packSubmitted(
  submitted: SubmittedMessage,
  { packing, from, to, now }: SubmittedOptions,
): Promise<SubmittedMessage> {
  if (packing === undefined || submitted.isXdm) return submitted;
  const entity = parseEntity(submitted.message);
  if (entity.contentType.mediaType === 'multipart/report') return submitted;
  const { subject, body, attachments } = readParts(entity);
  const others = attachments.filter(({ isBody }) => !isBody);
  const isPlain = body?.mediaType === 'text/plain';
  const found = others.filter(({ isInline }) => !isInline).map(({ part }) => part);
  if (found.length === 0) return submitted;
  const ofText = others.filter(({ isInline }) => isInline).map(({ part }) => part);
  const kept = body === undefined ? undefined : findText(entity, [body, ...ofText], found);
  // What cannot stay with the text is packed, so that nothing is lost.
  const documents =
    kept === undefined ? [...(body === undefined || isPlain ? [] : [body]), ...ofText, ...found] : found;
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
  const header = entity.headerFields.filter(({ name }) => {
    const key = name.toLowerCase();
    return !replaced.has(key) && !key.startsWith('content-');
  });
  const message = joinPieces([
    ...header.map(({ raw }) => ({ bytes: raw })),
    {
      bytes: Buffer.from(
        formatTextHeader('Subject', xdmSubject(subject)) +
          formatHeader('MIME-Version', '1.0') +
          (kept === undefined ? '' : formatHeader('Content-Transfer-Encoding', measureSafety(kept.bytes))),
      ),
    },
    ...multipartPieces('multipart/mixed', deriveBoundary(submitted.wireId), [
      kept === undefined ? textPieces(text.trim() === '' ? packageText : text) : [{ bytes: kept.bytes }],
      attachmentPieces({ mediaType: 'application/zip', content, fileName: xdmFileName(uuid) }),
    ]),
  ]);
  return { ...submitted, message, isXdm: true };
}

/** The smallest entity with all of the text; undefined if it holds documents too. */
function findText(
  entity: MimeEntity,
  text: readonly MessagePart[],
  documents: readonly MessagePart[],
): MimeEntity | undefined {
  const inner = entity.parts.find((part) => {
    const leaves = listLeaves(part);
    return text.every((one) => leaves.includes(one.entity));
  });
  if (inner !== undefined) return findText(inner, text, documents);
  const leaves = listLeaves(entity);
  return documents.some((one) => leaves.includes(one.entity)) ? undefined : entity;
}

function listLeaves(entity: MimeEntity): MimeEntity[] {
  return entity.parts.length === 0 ? [entity] : [...entity.parts, ...entity.outside].flatMap(listLeaves);
}
