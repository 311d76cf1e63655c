import { oidOfUuid } from '../values/index.ts';
import { documentAuthors, patientCx, requestedType } from './describe-documents.ts';
import type { DocumentEntry, SubmissionSet, XdmAuthor } from './entries.ts';
import { formatDtm, formatXtn } from './hl7-values.ts';
import type { XdmRequest } from './xdm-request.ts';

/**
 * The submission set of a request: the sender as author, one intended recipient per address (META-03,
 * META-08).
 */
export function describeSubmission(request: XdmRequest, documents: readonly DocumentEntry[]): SubmissionSet {
  const isLimited = documents.some((document) => document.isLimited);
  const comments = [request.body, request.patientSummary]
    .filter((text) => text !== undefined && text.trim() !== '')
    .join('\n\n');
  return {
    entryId: 'SubmissionSet01',
    uniqueId: oidOfUuid(request.messageUuid),
    sourceId: request.sourceId,
    patientId: isLimited ? undefined : patientCx(request),
    submissionTime: formatDtm(request.at),
    contentTypeCode:
      requestedType(request) ?? documents.find((document) => document.typeCode !== undefined)?.typeCode,
    title: request.subject?.trim() === '' ? undefined : request.subject?.trim(),
    comments: comments === '' ? undefined : comments,
    authors: [withSender(documentAuthors(request)[0], request.from)],
    intendedRecipients: request.to.map((address) => `||${formatXtn(address)}`),
    isLimited,
  };
}

function withSender(author: XdmAuthor | undefined, from: string): XdmAuthor {
  return {
    person: author?.person,
    institutions: author?.institutions ?? [],
    telecommunications: [formatXtn(from)],
  };
}
