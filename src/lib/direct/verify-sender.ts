import { errorText } from '../../core/index.ts';
import { MimeError, parseEntity } from '../mime/index.ts';
import {
  createValidationBudget,
  isBoundTo,
  listIssuersAtHand,
  PkiError,
  validatePath,
  readCertificate,
  type Certificate,
  type ValidatedPath,
  type TrustContext,
  type ValidationBudget,
} from '../pki/index.ts';
import { findDirectAddress, type DirectAddress } from '../values/index.ts';
import { checkEnvelope, type Envelope } from './check-envelope.ts';
import { AnswerableError, DirectError, RefusedSignerError, type DirectErrorCode } from './errors.ts';
import { findCertificate } from './find-certificate.ts';
import { readMessageAddresses } from './message-addresses.ts';
import type { OpenedMessage, OpenedSigner } from './open-message.ts';
import { completePolicy, type MessagePolicy } from './policy.ts';

/**
 * Trust for messages that come in to one local domain or address (TRUST-03); `anchors` are those of that
 * direction.
 */
export interface SenderTrust extends Omit<TrustContext, 'address'> {
  readonly messagePolicy?: Partial<MessagePolicy>;
  /**
   * False to fetch nothing for a sender whose certificates do not chain to an anchor without a fetch: such a
   * sender is `DIRECT_SENDER_NEEDS_FETCH`. CRLs of a path that leads to an anchor are fetched all the same.
   * Default true.
   */
  readonly allowFetch?: boolean;
}

/** A verified sender. Only `sender` is; other addresses in From are claims. */
export interface VerifiedSender {
  readonly sender: DirectAddress;
  readonly path: ValidatedPath;
  readonly signer: Extract<OpenedSigner, { outcome: 'valid' }>;
  /** To and Cc of the inner message. */
  readonly recipients: readonly DirectAddress[];
}

/**
 * Verifies the sender of a message: the envelope fits, and one of the valid signers is bound to the sender
 * and trusted (AS-39, AS-76 to AS-79, TRUST-01). Signers are tried in their order; one good one is enough.
 * All are first tried with the certificates at hand; issuers are fetched only for those that remain
 * undecided, with one budget of time and fetches for all of them.
 *
 * Errors: `DIRECT_NO_SENDER`, `DIRECT_SENDER_AMBIGUOUS`, `DIRECT_NO_RECIPIENTS`,
 * `DIRECT_ENVELOPE_SENDER_MISMATCH`, `DIRECT_ENVELOPE_RECIPIENT_MISMATCH`, `DIRECT_SENDER_SIGNATURE_MISSING`,
 * `DIRECT_SENDER_UNTRUSTED` (its `reason` is a `PKI_*` code), and, both transient, `DIRECT_SENDER_UNDECIDED`
 * when a fetch that decides could not be finished, and `DIRECT_SENDER_NEEDS_FETCH` when
 * it was not allowed.
 */
export async function verifySender(
  opened: OpenedMessage,
  envelope: Envelope | undefined,
  trust: SenderTrust,
): Promise<VerifiedSender> {
  const inner = parse(opened.inner);
  const embedded = opened.certificates.flatMap(findCertificate);
  const candidates = [...embedded, ...(trust.candidates ?? [])];
  const common = { ...trust, candidates, budget: trust.budget ?? createValidationBudget() };
  const question = { opened, envelope, common };
  const named = findDirectAddress(envelope?.mailFrom ?? '');
  const addresses = await answerably(() => readMessageAddresses(inner), { ...question, sender: named });
  const policy = completePolicy(trust.messagePolicy);
  const { sender, recipients } = addresses;
  if (envelope !== undefined && policy.requireEnvelopeMatch) {
    // Anybody can change a header that is not signed, and would be answered each time.
    const signedSender = opened.wasWrapped ? sender : undefined;
    await answerably(() => checkEnvelope(envelope, addresses, inner), { ...question, sender: signedSender });
  }
  const context = { ...common, address: sender };
  const found = await findTrustedSigner(boundSigners(opened, sender), context, trust.allowFetch ?? true);
  return { sender, recipients, ...found };
}

interface Question {
  readonly opened: OpenedMessage;
  readonly envelope: Envelope | undefined;
  readonly common: Omit<TrustContext, 'address'> & { readonly budget: ValidationBudget };
  /** Who would be answered; undefined if nobody may be. */
  readonly sender: DirectAddress | undefined;
}

/**
 * The result, or why there is none: an `AnswerableError` if a trusted signer is bound to the sender. Nothing
 * is fetched for that.
 */
async function answerably<T>(work: () => T, { opened, envelope, common, sender }: Question): Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DirectError) || envelope === undefined || sender === undefined) throw error;
    if (!(await isTrusted(boundSigners(opened, sender), { ...common, address: sender }))) throw error;
    throw new AnswerableError(error, { sender, recipients: envelope.recipients, inner: opened.inner });
  }
}

async function isTrusted(
  signers: readonly BoundSigner[],
  context: TrustContext & { readonly budget: ValidationBudget },
): Promise<boolean> {
  const found = await trySigners(signers, { ...context, budget: context.budget.withoutIssuerFetches() });
  return !Array.isArray(found);
}

type TrustedSigner = Pick<VerifiedSender, 'signer' | 'path'>;
type Refused = BoundSigner & { readonly refusal: PkiError };

async function findTrustedSigner(
  signers: readonly BoundSigner[],
  context: TrustContext & { readonly budget: ValidationBudget },
  allowFetch: boolean,
): Promise<TrustedSigner> {
  const fetched: Certificate[] = [];
  const collecting = withCollector(context, fetched);
  const refuse = (refused: readonly Refused[]): DirectError => refusalOf(refused, context, fetched);
  const fromMessage = await trySigners(signers, {
    ...context,
    budget: context.budget.withoutIssuerFetches(),
  });
  if (!Array.isArray(fromMessage)) return fromMessage;
  const open = fromMessage.filter(({ refusal }) => refusal.code === 'PKI_FETCH_NEEDED');
  if (!allowFetch || open.length === 0) throw refuse(fromMessage);
  const again = await trySigners(open, collecting);
  if (!Array.isArray(again)) return again;
  throw refuse([...fromMessage.filter((one) => !open.includes(one)), ...again]);
}

/** Also notes what is fetched, to show how far a path went. */
function withCollector(context: TrustContext, fetched: Certificate[]): TrustContext {
  const { fetchIssuers } = context;
  if (fetchIssuers === undefined) return context;
  return {
    ...context,
    fetchIssuers: async (...asked) => {
      const found = await fetchIssuers(...asked);
      fetched.push(...found);
      return found;
    },
  };
}

/** The first signer that is trusted, or why each is refused. */
async function trySigners(
  signers: readonly BoundSigner[],
  context: TrustContext,
): Promise<TrustedSigner | Refused[]> {
  const refused: Refused[] = [];
  for (const { signer, certificate } of signers) {
    try {
      return { signer, path: await validatePath(certificate, 'signing', context) };
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      refused.push({ signer, certificate, refusal: error });
    }
  }
  return refused;
}

function parse(inner: Uint8Array): ReturnType<typeof parseEntity> {
  try {
    return parseEntity(inner);
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    throw new DirectError('DIRECT_MESSAGE_MALFORMED', errorText(error), { cause: error });
  }
}

interface BoundSigner {
  readonly signer: Extract<OpenedSigner, { outcome: 'valid' }>;
  readonly certificate: Certificate;
}

function boundSigners(opened: OpenedMessage, sender: DirectAddress): BoundSigner[] {
  const known = new Set<string>();
  return opened.signers.flatMap((signer) => {
    if (signer.outcome !== 'valid') return [];
    const certificate = readCertificate(signer.certificate);
    if (known.has(certificate.fingerprint) || isBoundTo(certificate, sender) === undefined) return [];
    known.add(certificate.fingerprint);
    return [{ signer, certificate }];
  });
}

function refusalOf(
  refused: readonly Refused[],
  { anchors, candidates = [] }: TrustContext,
  fetched: readonly Certificate[],
): DirectError {
  const refusals = refused.map(({ refusal }) => refusal);
  const [first] = refused;
  if (first === undefined)
    return new DirectError('DIRECT_SENDER_SIGNATURE_MISSING', 'no valid signature is bound to the sender');
  const needsFetch = refusals.find((refusal) => refusal.code === 'PKI_FETCH_NEEDED');
  const undecided = needsFetch ?? refusals.find((refusal) => refusal.isTransient);
  const cause = undecided ?? first.refusal;
  const options = { cause, fields: { reasons: refusals.map((refusal) => refusal.code) } };
  if (undecided !== undefined) return new DirectError(verdictOf(undecided), cause.message, options);
  const { certificate } = first;
  const failedAt = cause.fields['certificate'];
  const issuers = listIssuersAtHand(certificate, [...candidates, ...fetched], anchors);
  const top = (issuers.at(-1) ?? certificate).fingerprint;
  return new RefusedSignerError(
    'DIRECT_SENDER_UNTRUSTED',
    {
      certificate,
      issuers,
      anchor: anchors.find(({ fingerprint }) => fingerprint === top)?.fingerprint,
      failedAt: typeof failedAt === 'string' ? failedAt : certificate.fingerprint,
    },
    options,
  );
}

function verdictOf(undecided: PkiError): DirectErrorCode {
  return undecided.code === 'PKI_FETCH_NEEDED' ? 'DIRECT_SENDER_NEEDS_FETCH' : 'DIRECT_SENDER_UNDECIDED';
}
