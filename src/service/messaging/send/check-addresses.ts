import { errorCode, isNoSocketCode, type BudgetRefusal } from '../../../core/index.ts';
import { domainOf, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { requireOwned } from '../require-owned.ts';
import { maxCheckMs, maxValidateAddresses } from '../limits.ts';
import { MessagingError } from '../errors.ts';
import { createProblems, isRecord } from '../problems.ts';
import type { MessagingDependencies, ShownVerification } from '../ports.ts';
import { splitAddresses } from '../request/read-recipients.ts';

/** The results of checking an address before a send; undefined where a check had no result. */
export interface AddressCheck {
  /** As it was asked for. */
  readonly text: string;
  readonly isWellFormed: boolean;
  readonly hasCertificate: boolean | undefined;
  readonly isTrusted: boolean | undefined;
  readonly isListed: boolean | undefined;
  readonly reason: string;
  readonly statusCode: string;
  /** Its state by verification of the directory, if requested. */
  readonly verification?: ShownVerification | undefined;
}

const maxTextLength = 320;
const fields: ReadonlySet<string> = new Set(['fromDirectAddress', 'toDirectAddress', 'verification']);

export interface AddressQuestion {
  readonly from: DirectAddress;
  /** Addresses as they came. */
  readonly texts: readonly string[];
  readonly asksVerification?: boolean;
}

/** The same for the JSON form of the question. */
export function checkAddresses(
  deps: MessagingDependencies,
  client: ClientIdentity,
  body: unknown,
): Promise<readonly AddressCheck[]> {
  return checkRecipients(deps, client, readQuestion(body));
}

/**
 * Checks up to a hundred addresses from the point of view of one of the client's own (Decision 0009: bulk
 * check). Discoveries wait for slots, of which a client has a share (Decision 0020). Throws
 * MESSAGING_CHECKS_LIMITED, MESSAGING_CHECKS_OVERLOADED.
 */
export async function checkRecipients(
  deps: MessagingDependencies,
  client: ClientIdentity,
  { from, texts, asksVerification = false }: AddressQuestion,
): Promise<readonly AddressCheck[]> {
  requireOwned(client, from, 'fromDirectAddress');
  const room = deps.checks.budget.reserve(client.clientId, texts.length);
  if (typeof room === 'string') throw tooMany(client, room);
  const untilMs = performance.now() + maxCheckMs;
  const isTimeLeft = (): boolean => performance.now() < untilMs;
  const faults = new Set<string>();
  const judge = async (address: DirectAddress): Promise<Verdict> => {
    try {
      return isTimeLeft() ? await findVerdict(deps, from, address) : undecided;
    } catch (error) {
      const code = errorCode(error);
      if (!isNoSocketCode(code)) throw error;
      // Nobody could be asked, which says nothing about this address or about the others.
      faults.add(code);
      return undecided;
    }
  };
  const check = (text: string): Promise<AddressCheck> =>
    deps.checks.slots.run(client.clientId, () => checkAddress(text, judge, deps.isListed));
  const checkAll = async (text: string): Promise<AddressCheck> => {
    const [checked, verification] = await Promise.all([
      check(text),
      asksVerification ? findVerification(deps, text) : undefined,
    ]);
    return verification === undefined ? checked : { ...checked, verification };
  };
  try {
    return await Promise.all(texts.map(checkAll));
  } finally {
    room.release();
    for (const code of faults)
      deps.log.warn({ code }, 'addresses could not be checked: this process has no free socket');
  }
}

function tooMany({ clientId }: ClientIdentity, reason: BudgetRefusal): MessagingError {
  const code = reason === 'caller' ? 'MESSAGING_CHECKS_LIMITED' : 'MESSAGING_CHECKS_OVERLOADED';
  return new MessagingError(code, `client ${clientId}: too many addresses are being checked`, {
    retryAfterSeconds: 5,
  });
}

function readQuestion(body: unknown): AddressQuestion {
  const problems = createProblems();
  const values = isRecord(body) ? body : {};
  if (!isRecord(body)) problems.add('body', 'invalid', 'The body must be a JSON object.');
  for (const field of Object.keys(values)) {
    if (!fields.has(field)) problems.add(field.slice(0, 100), 'unknown', 'Unknown field.');
  }
  const sender = values['fromDirectAddress'];
  const from = typeof sender === 'string' ? findDirectAddress(sender.trim()) : undefined;
  if (from === undefined)
    problems.add(
      'fromDirectAddress',
      sender === undefined ? 'required' : 'invalid',
      'Not a Direct address of this client.',
    );
  const asksVerification = values['verification'] ?? false;
  if (typeof asksVerification !== 'boolean')
    problems.add('verification', 'invalid', 'Must be true or false.');
  const asked = values['toDirectAddress'];
  const texts: readonly unknown[] = Array.isArray(asked)
    ? asked
    : typeof asked === 'string'
      ? splitAddresses(asked)
      : [];
  const isOther = typeof asked !== 'string' && !Array.isArray(asked) && asked !== undefined && asked !== null;
  if (isOther) problems.add('toDirectAddress', 'invalid', 'Must be a text or a list of texts.');
  else if (texts.length === 0)
    problems.add('toDirectAddress', 'required', 'At least one address is required.');
  if (texts.length > maxValidateAddresses)
    problems.add('toDirectAddress', 'too_many', `At most ${maxValidateAddresses} addresses are allowed.`);
  for (const [index, text] of texts.slice(0, maxValidateAddresses).entries()) {
    if (typeof text !== 'string' || text.length > maxTextLength)
      problems.add(
        `toDirectAddress[${index}]`,
        'invalid',
        `Must be a string of at most ${maxTextLength} characters.`,
      );
  }
  problems.refuseIfAny();
  return {
    from: from as DirectAddress,
    texts: (texts as readonly string[]).map((text) => text.trim()),
    asksVerification: asksVerification === true,
  };
}

async function checkAddress(
  text: string,
  judge: (address: DirectAddress) => Promise<Verdict>,
  isListed: MessagingDependencies['isListed'],
): Promise<AddressCheck> {
  const address = findDirectAddress(text);
  if (address === undefined)
    return {
      text,
      isWellFormed: false,
      hasCertificate: undefined,
      isTrusted: undefined,
      isListed: undefined,
      reason: 'invalid',
      statusCode: '5.1.3',
    };
  const [verdict, listed] = await Promise.all([judge(address), isListed?.(address)]);
  return { text, isWellFormed: true, ...verdict, isListed: listed };
}

async function findVerification(
  deps: MessagingDependencies,
  text: string,
): Promise<ShownVerification | undefined> {
  const address = findDirectAddress(text);
  return address === undefined ? undefined : deps.findVerification?.(address);
}

/** The result while nothing is known. */
const undecided: Verdict = {
  hasCertificate: undefined,
  isTrusted: undefined,
  reason: 'undecided',
  statusCode: '4.4.3',
};

type Verdict = Pick<AddressCheck, 'hasCertificate' | 'isTrusted' | 'reason' | 'statusCode'>;

async function findVerdict(
  { agent, trust }: MessagingDependencies,
  from: DirectAddress,
  address: DirectAddress,
): Promise<Verdict> {
  const isOurs = await trust.isHostedDomain(domainOf(address));
  if (isOurs && (await trust.findAddress(address))?.status !== 'active')
    return {
      hasCertificate: undefined,
      isTrusted: undefined,
      reason: 'unknown-recipient',
      statusCode: '5.1.1',
    };
  const { refused } = await agent.resolveRecipients(from, [address]);
  const [refusal] = refused;
  if (refusal === undefined)
    return { hasCertificate: true, isTrusted: true, reason: '', statusCode: '2.0.0' };
  const { reason, statusCode, isTransient } = refusal;
  if (isTransient) return undecided;
  // The recipient was not looked at if the sender itself cannot sign.
  if (reason === 'sender-certificate')
    return { hasCertificate: undefined, isTrusted: undefined, reason, statusCode };
  return { hasCertificate: reason === 'untrusted', isTrusted: false, reason, statusCode };
}
