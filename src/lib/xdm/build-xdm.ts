import { isOid } from '../values/index.ts';
import { describeDocuments } from './describe-documents.ts';
import { describeSubmission } from './describe-submission.ts';
import { XdmError } from './errors.ts';
import { writeIndex, writeReadme } from './write-index.ts';
import { writeMetadata } from './write-metadata.ts';
import type { XdmRequest } from './xdm-request.ts';
import { writeZip } from './zip-writer.ts';

const subset = 'IHE_XDM/SUBSET01/';
const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Builds an XDM package for e-mail (XDM-01 to XDM-06, XDM-10; META-01 to META-09): full metadata if every
 * required field is known, else limited. Deterministic. Throws XDM_NO_DOCUMENTS and XDM_VALUE_INVALID.
 */
export async function buildXdm(request: XdmRequest): Promise<Buffer> {
  checkRequest(request);
  const documents = describeDocuments(request);
  const set = describeSubmission(request, documents);
  const text = (name: string, content: string): { name: string; content: Buffer } => ({
    name,
    content: Buffer.from(content),
  });
  return writeZip(
    [
      text('INDEX.HTM', writeIndex(request, set, documents)),
      text('README.TXT', writeReadme(request, set, documents)),
      { name: 'IHE_XDM/' },
      { name: subset },
      text(`${subset}METADATA.XML`, writeMetadata(set, documents)),
      ...request.documents.map(({ content }, index) => ({
        name: `${subset}${documents[index]?.uri ?? ''}`,
        content,
      })),
    ],
    request.at,
  );
}

function checkRequest(request: XdmRequest): void {
  if (request.documents.length === 0)
    throw new XdmError('XDM_NO_DOCUMENTS', 'A package needs at least one document');
  const checks: [name: string, isValid: boolean][] = [
    ['sourceId', isOid(request.sourceId)],
    [
      'assigningAuthority',
      request.assigningAuthority === undefined ||
        request.assigningAuthority === '' ||
        isOid(request.assigningAuthority),
    ],
    ['messageUuid', uuidForm.test(request.messageUuid)],
    ['birthDate', request.patient?.birthDate === undefined || /^(?:\d{8})?$/.test(request.patient.birthDate)],
    ['gender', request.patient?.gender === undefined || /^[MFOUAN]?$/i.test(request.patient.gender)],
  ];
  for (const [name, isValid] of checks) {
    if (!isValid)
      throw new XdmError('XDM_VALUE_INVALID', `The value of ${name} cannot stand in XDM metadata`);
  }
}

const subjectMark = 'XDM/1.0/DDM';

/**
 * The subject of the message that carries a package: the user's, with the mark that IHE wants in it (XDM-07).
 */
export function xdmSubject(subject = ''): string {
  return subject.includes(subjectMark) ? subject : `${subject} ${subjectMark}`.trim();
}

/** The attachment's name, `<uuid>-xdm.zip` (XDM-07). */
export function xdmFileName(messageUuid: string): string {
  return `${messageUuid.toLowerCase()}-xdm.zip`;
}
