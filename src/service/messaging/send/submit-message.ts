import {
  addressKey,
  findDirectAddress,
  type DirectAddress,
  type MessageUrn,
} from '../../../lib/values/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { maxSubmittedBytes } from '../limits.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { createProblems } from '../problems.ts';
import { acceptMessage, type Submission } from './accept-message.ts';

/** A complete RFC 5322 message of a client, with its envelope, from an edge other than the REST API. */
export interface SubmittedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Line ends become CRLF, and the memory of a large one is given away. */
  readonly message: Uint8Array;
}

export interface SubmitAnswer {
  /** The name of the message in the API. */
  readonly messageId: MessageUrn;
  /**
   * True for a repetition: the same client sent the same bytes with the same Message-ID to all these
   * recipients before.
   */
  readonly isReplay: boolean;
  readonly accepted: readonly DirectAddress[];
  readonly refused: readonly RefusedAddress[];
}

export interface RefusedAddress {
  readonly address: string;
  readonly reason: 'invalid' | 'too_many';
  /** Enhanced status code (RFC 3463). */
  readonly statusCode: string;
}

/**
 * Accepts a message that a client has composed itself. It goes out as it came (`readSubmitted`); recipients
 * that cannot be accepted are refused one by one, and the others go. Throws what `sendMessage` throws;
 * MESSAGING_REQUEST_INVALID for `to` if no recipient is left.
 */
export async function submitMessage(
  deps: MessagingDependencies,
  client: ClientIdentity,
  mail: SubmittedMail,
  origin: RequestOrigin,
): Promise<SubmitAnswer> {
  const { accepted, refused } = sortRecipients(mail.to, deps.settings.maxRecipients);
  const { messageId, isReplay } = await acceptMessage(deps, client, origin, () =>
    readSubmission(deps, client, mail, accepted),
  );
  return { messageId, isReplay, accepted, refused };
}

async function readSubmission(
  deps: MessagingDependencies,
  client: ClientIdentity,
  mail: SubmittedMail,
  to: readonly DirectAddress[],
): Promise<Submission> {
  const problems = createProblems();
  const from = findDirectAddress(mail.from);
  if (from === undefined) problems.add('from', 'invalid', 'Not a Direct address (local@domain).');
  if (to.length === 0) problems.add('to', 'required', 'No recipient is a Direct address (local@domain).');
  problems.refuseIfAny();
  const maxBytes = maxSubmittedBytes(deps.settings);
  if (mail.message.length > maxBytes) {
    const detail = `At most ${maxBytes} bytes are allowed.`;
    throw new MessagingError('MESSAGING_TOO_LARGE', 'the submitted message is too large', {
      problems: [{ field: 'message', reason: 'too_large', detail }],
    });
  }
  const { message, ...read } = await deps.workerPool.readSubmitted(mail.message, {
    from: from as DirectAddress,
    to,
    clientId: client.clientId,
    requestsFinalDelivery: client.requestFinalDelivery,
    ...(client.packedFor === undefined
      ? {}
      : { packing: { authorInstitution: client.packedFor, identity: deps.identity } }),
    limits: deps.settings,
    now: deps.clock.now(),
  });
  return {
    ...read,
    from: from as DirectAddress,
    to,
    isAsmEnabled: false,
    isNamed: false,
    warnings: [],
    compose: async () => message,
  };
}

function sortRecipients(
  texts: readonly string[],
  maxRecipients: number,
): Pick<SubmitAnswer, 'accepted' | 'refused'> {
  const accepted = new Map<string, DirectAddress>();
  const refused: RefusedAddress[] = [];
  for (const text of texts) {
    const address = findDirectAddress(text);
    if (address === undefined) refused.push({ address: text, reason: 'invalid', statusCode: '5.1.3' });
    else if (accepted.has(addressKey(address))) continue;
    else if (accepted.size >= maxRecipients)
      refused.push({ address: text, reason: 'too_many', statusCode: '4.5.3' });
    else accepted.set(addressKey(address), address);
  }
  return { accepted: [...accepted.values()], refused };
}
