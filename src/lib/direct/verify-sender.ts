import { errorText } from '../../core/index.ts';
import { MimeError, parseEntity } from '../mime/index.ts';
import {
  isBoundTo,
  PkiError,
  provePath,
  readCertificate,
  type Certificate,
  type ProvedPath,
  type TrustContext,
} from '../pki/index.ts';
import type { DirectAddress } from '../values/index.ts';
import { checkEnvelope, type Envelope } from './check-envelope.ts';
import { DirectError } from './errors.ts';
import { findCertificate } from './find-certificate.ts';
import { readParties } from './message-parties.ts';
import type { OpenedMessage, OpenedSigner } from './open-message.ts';
import { completePolicy, type MessagePolicy } from './policy.ts';

/** Trust for messages that come in to one local domain or address (TRUST-03); `anchors` are those of that direction. */
export interface SenderTrust extends Omit<TrustContext, 'address'> {
  readonly messagePolicy?: Partial<MessagePolicy>;
}

/** A sender that was proved. Only `sender` is; other addresses in From are claims. */
export interface VerifiedSender {
  readonly sender: DirectAddress;
  readonly path: ProvedPath;
  readonly signer: Extract<OpenedSigner, { outcome: 'valid' }>;
  /** To and Cc of the inner message. */
  readonly recipients: readonly DirectAddress[];
}

/**
 * Proves that the message is from whom it says: the envelope fits, and one of the valid signers is bound to the sender and trusted
 * (AS-39, AS-76 to AS-79, TRUST-01). Signers are tried in their order; one good one is enough.
 *
 * Errors: `DIRECT_NO_SENDER`, `DIRECT_SENDER_AMBIGUOUS`, `DIRECT_NO_RECIPIENTS`, `DIRECT_ENVELOPE_SENDER_MISMATCH`,
 * `DIRECT_ENVELOPE_RECIPIENT_MISMATCH`, `DIRECT_SENDER_SIGNATURE_MISSING`, `DIRECT_SENDER_UNTRUSTED` (its `reason` is a `PKI_*` code),
 * and `DIRECT_SENDER_UNDECIDED`, transient, when a fetch that decides could not be finished.
 */
export async function verifySender(
  opened: OpenedMessage,
  envelope: Envelope | undefined,
  trust: SenderTrust,
): Promise<VerifiedSender> {
  const inner = parse(opened.inner);
  const parties = readParties(inner);
  const policy = completePolicy(trust.messagePolicy);
  if (envelope !== undefined && policy.requireEnvelopeMatch) checkEnvelope(envelope, parties, inner);
  const { sender, recipients } = parties;
  const embedded = opened.certificates.flatMap(findCertificate);
  const context = { ...trust, candidates: [...embedded, ...(trust.candidates ?? [])], address: sender };
  const refusals: PkiError[] = [];
  for (const { signer, certificate } of boundSigners(opened, sender)) {
    try {
      return { sender, recipients, signer, path: await provePath(certificate, 'signing', context) };
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      refusals.push(error);
    }
  }
  throw refusalOf(refusals);
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
  return opened.signers.flatMap((signer) => {
    if (signer.outcome !== 'valid') return [];
    const certificate = readCertificate(signer.certificate);
    return isBoundTo(certificate, sender) === undefined ? [] : [{ signer, certificate }];
  });
}

function refusalOf(refusals: readonly PkiError[]): DirectError {
  const [first] = refusals;
  if (first === undefined)
    return new DirectError('DIRECT_SENDER_SIGNATURE_MISSING', 'no valid signature is bound to the sender');
  const undecided = refusals.find((refusal) => refusal.isTransient);
  const cause = undecided ?? first;
  return new DirectError(
    undecided === undefined ? 'DIRECT_SENDER_UNTRUSTED' : 'DIRECT_SENDER_UNDECIDED',
    cause.message,
    {
      cause,
      fields: { reasons: refusals.map((refusal) => refusal.code) },
    },
  );
}
