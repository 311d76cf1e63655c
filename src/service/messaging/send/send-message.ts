import type { FieldProblem } from '../../../core/index.ts';
import { createMessageUrn, domainOf, uuidOf } from '../../../lib/values/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { describeXmlFault } from '../request/read-attachments.ts';
import type { SendRequest } from '../request/read-send-request.ts';
import { hasLoincCheckDigit, type TextFieldName } from '../request/send-fields.ts';
import { acceptMessage, type SendAnswer, type Submission } from './accept-message.ts';

/**
 * Accepts the JSON form of a message (Messaging spec: Send message), which is composed here. Throws
 * MESSAGING_REQUEST_INVALID, _TOO_LARGE, _SENDER_NOT_OWNED, _SENDER_NOT_HOSTED, _ID_REUSED.
 */
export function sendMessage(
  deps: MessagingDependencies,
  client: ClientIdentity,
  body: unknown,
  origin: RequestOrigin,
): Promise<SendAnswer> {
  return acceptMessage(deps, client, origin, () => readMessage(deps, client, body));
}

/** Throws MESSAGING_REQUEST_INVALID, _TOO_LARGE. */
export async function readMessage(
  deps: MessagingDependencies,
  client: ClientIdentity,
  body: unknown,
): Promise<Submission> {
  const { request, requestHash } = await deps.workerPool.readSend(body, {
    clientId: client.clientId,
    options: { limits: deps.settings, now: deps.clock.now() },
  });
  return toSubmission(deps, client, request, requestHash);
}

function toSubmission(
  { workerPool, identity }: MessagingDependencies,
  client: ClientIdentity,
  request: SendRequest,
  requestHash: string,
): Submission {
  const { from, to, flags } = request;
  const messageId = request.messageId ?? createMessageUrn();
  const named = {
    messageId,
    wireId: `<${uuidOf(messageId)}@${domainOf(from)}>`,
    requestsFinalDelivery: flags.requestFinalDelivery ?? client.requestFinalDelivery,
  };
  return {
    ...named,
    from,
    to,
    requestHash,
    isXdm: flags.xdm === true,
    isNamed: true,
    isAsmEnabled: flags.asmEnabled === true,
    // Before the contents are composed, which takes their memory.
    details: JSON.stringify(detailsOf(request)),
    warnings: findWarnings(request),
    compose: (at) => workerPool.compose({ ...named, request, identity, at }),
  };
}

// The contents themselves are in the delivery until it is done; these are the other fields of the request.
function detailsOf({ texts, attachments }: SendRequest): object {
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
  return {
    ...given,
    attachments: attachments.map(({ mediaType, title, fileName, content }) => ({
      mediaType,
      title,
      fileName,
      sizeBytes: content.length,
    })),
  };
}

/** The fields that a receiver needs to find the patient (META-10). */
const matchingFields: readonly TextFieldName[] = [
  'patientLastname',
  'patientFirstname',
  'patientDOB',
  'patientGender',
  'patientId',
];

/** Values that are allowed but cause problems for a receiver. Names fields, never values. */
function findWarnings({ texts, flags, attachments }: SendRequest): readonly FieldProblem[] {
  const warnings: FieldProblem[] = [];
  if (flags.xdm === true) {
    for (const field of matchingFields.filter((name) => texts[name] === ''))
      warnings.push({
        field,
        reason: 'recommended',
        detail: 'Receivers need this field to match the patient.',
      });
  }
  if (texts.loincValue !== '' && !hasLoincCheckDigit(texts.loincValue))
    warnings.push({
      field: 'loincValue',
      reason: 'check_digit',
      detail: 'The check digit of this LOINC code is wrong.',
    });
  for (const [index, { xmlFault }] of attachments.entries()) {
    if (xmlFault !== undefined)
      warnings.push({
        field: `emailAttachmentList[${index}].attachmentContent`,
        reason: 'not_well_formed',
        detail: `This ${describeXmlFault(xmlFault)}; it is sent as it is.`,
      });
  }
  return warnings;
}
