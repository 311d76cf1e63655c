import type { AttachmentInput } from '../../../lib/mime/index.ts';
import { type MessageUrn, uuidOf } from '../../../lib/values/index.ts';
import {
  beginsAsZip,
  buildXdm,
  isXdm,
  xdmFileName,
  type XdmPatient,
  type XdmRequest,
} from '../../../lib/xdm/index.ts';
import type { ServiceIdentity } from '../identity.ts';
import type { Attachment } from '../request/read-attachments.ts';
import type { SendRequest } from '../request/read-send-request.ts';

const packageType = 'application/zip';

/**
 * Packs all attachments into one XDM package with the request's patient, document and author fields
 * (Decision 0011; XDM-01 to XDM-07). A single attachment that already is a package goes as it is, never
 * wrapped again.
 */
export async function packAttachments(input: ComposeInput): Promise<readonly AttachmentInput[]> {
  const { request, messageId } = input;
  const fileName = xdmFileName(uuidOf(messageId));
  const given = findGivenPackage(request);
  if (given === undefined)
    return [{ mediaType: packageType, content: await buildXdm(toXdmRequest(input)), fileName }];
  const { content, title } = given;
  // Whatever type and name the client gave: receivers recognize a package by these (XDM-07).
  const named = /\.zip$/i.test(given.fileName) ? given.fileName : fileName;
  return [{ mediaType: packageType, content, fileName: named, ...(title === '' ? {} : { title }) }];
}

/** The one attachment of a request that already is a package; undefined if there is none, or more than it. */
export function findGivenPackage({ attachments }: SendRequest): Attachment | undefined {
  const [only, ...others] = attachments;
  if (only === undefined || others.length > 0) return undefined;
  const { content, baseType, fileName } = only;
  return beginsAsZip(content) && isXdm(content, baseType, fileName) ? only : undefined;
}

function toXdmRequest({ request, messageId, identity, at }: ComposeInput): XdmRequest {
  const { texts } = request;
  return {
    from: request.from,
    to: request.to,
    messageUuid: uuidOf(messageId),
    subject: texts.messageSubject,
    body: texts.messageBody,
    patientSummary: texts.patient_summary,
    patient: toPatient(texts),
    patientId: texts.patientId,
    assigningAuthority: texts.assigning_authority,
    ...(texts.loincValue === '' ? {} : { loinc: { value: texts.loincValue, name: texts.loincName } }),
    author: { person: texts.authorPerson, institution: texts.authorInstitution },
    documents: request.attachments.map(({ baseType, content, fileName, title }) => ({
      mediaType: baseType,
      content,
      fileName,
      title,
    })),
    sourceId: identity.sourceOid,
    codes: identity.xdmCodes,
    at,
  };
}

function toPatient(texts: SendRequest['texts']): XdmPatient {
  return {
    lastName: texts.patientLastname,
    firstName: texts.patientFirstname,
    middleName: texts.patientMiddlename,
    birthDate: texts.patientDOB,
    gender: texts.patientGender.toUpperCase(),
    street1: texts.patientAddressStreet1,
    street2: texts.patientAddressStreet2,
    city: texts.patientAddressCity,
    state: texts.patientAddressState.toUpperCase(),
    zip: texts.patientAddressZip,
  };
}

/** The input of composing a message. */
export interface ComposeInput {
  readonly request: SendRequest;
  readonly messageId: MessageUrn;
  /** `<uuid@sender-domain>`. */
  readonly wireId: string;
  readonly requestsFinalDelivery: boolean;
  readonly identity: ServiceIdentity;
  readonly at: Date;
}
