import { availableParallelism } from 'node:os';
import { type Clock, CodedError } from '../../core/index.ts';
import { type CodedFailure, createTaskThreads, threadScript } from '../../core/threads/index.ts';
import {
  createAgentJobRunner,
  DirectError,
  type DirectErrorCode,
  directErrors,
  type Discovery,
  type MessagePolicy,
  type OpenedMessage,
  resolveRecipient,
  type SealJob,
  type SenderTrust,
  type VerifiedSender,
  verifySender,
} from '../../lib/direct/index.ts';
import {
  createValidationBudget,
  findValidityFault,
  type IssuerFetcher,
  readCertificate,
  type RevocationChecker,
  type TrustPolicy,
  type ValidatedPath,
} from '../../lib/pki/index.ts';
import type { KeyTransport } from '../../lib/smime/index.ts';
import { type DirectAddress, domainOf } from '../../lib/values/index.ts';
import type { Trust } from '../trust/index.ts';
import type {
  Agent,
  IncomingEnvelope,
  OpenedIncoming,
  RecipientExplainer,
  RefusedIncoming,
  RefusedRecipient,
  UnsignedHeader,
  UsableRecipient,
} from './agent.ts';
import { AgentError } from './errors.ts';
import { findAnswerable, findRefusedSigner, refusalDetail, refusalReason } from './refusal-reason.ts';
import { resolveAll } from './resolve-recipients.ts';
import { createTaskRunner } from './run-tasks.ts';
import { type AgentResult, type AgentTask, runTask } from './tasks.ts';

export interface AgentOptions {
  readonly trust: Pick<Trust, 'findSigningKeys' | 'findDecryptionKeys' | 'findAnchors'>;
  readonly discovery: Discovery;
  readonly fetchIssuers: IssuerFetcher;
  readonly checkRevocation: RevocationChecker;
  readonly clock: Clock;
  readonly trustPolicy?: Partial<TrustPolicy>;
  readonly messagePolicy?: Partial<MessagePolicy>;
  /** Domains of peers that cannot read the default, RSA-OAEP with SHA-256, in lower case (AS-57). */
  readonly keyTransports?: ReadonlyMap<string, KeyTransport>;
  /** Called for validated paths with a warning, for example without a usable CRL (TRUST-07). */
  readonly onWarning?: (warning: TrustWarning) => void;
  /** Cryptography threads; by default one for each processor, two at most. */
  readonly threads?: number;
}

/** A warning of a validated path. */
export interface TrustWarning {
  readonly address: DirectAddress;
  /** A code of the path's warnings. */
  readonly code: string;
  readonly fingerprint: string;
  /** Fingerprint of the certificate that issued it; of an anchor that was used itself, its own. */
  readonly issuer: string;
}

/** A thread takes some 40 MB, and its start a fifth of a second. */
const threadIdleMs = 600_000;

/** The agent; its threads start with the first message, and end when there was none for a while. */
export function createAgent(options: AgentOptions): Agent & RecipientExplainer {
  const { trust, clock } = options;
  const script = threadScript('worker', import.meta.url);
  const threads = options.threads ?? Math.min(2, availableParallelism());
  const pool = createTaskThreads<AgentTask, AgentResult>(script, {
    threads,
    idleMs: threadIdleMs,
    restore: restoreError,
  });
  const runner = createAgentJobRunner();
  const tasks = createTaskRunner(pool, (task) => runTask(runner, task));

  /** Trust of one of our domains, for mail of one direction. */
  async function trustOf(domain: string, direction: 'incoming' | 'outgoing'): Promise<SenderTrust> {
    return {
      at: clock.now(),
      anchors: await trust.findAnchors(domain, direction),
      fetchIssuers: options.fetchIssuers,
      checkRevocation: options.checkRevocation,
      ...(options.trustPolicy && { policy: options.trustPolicy }),
      ...(options.messagePolicy && { messagePolicy: options.messagePolicy }),
    };
  }

  function withTransport(recipient: UsableRecipient): SealJob['recipients'][number] {
    const keyTransport = options.keyTransports?.get(domainOf(recipient.address));
    return keyTransport === undefined ? recipient : { ...recipient, keyTransport };
  }

  function emitWarnings(address: DirectAddress, path: ValidatedPath): void {
    const [{ fingerprint }, issuer] = path.certificates;
    for (const { code } of path.warnings)
      options.onWarning?.({ address, code, fingerprint, issuer: issuer?.fingerprint ?? fingerprint });
  }

  async function canSign(from: DirectAddress): Promise<boolean> {
    const now = clock.now();
    const keys = await trust.findSigningKeys(from);
    return keys.some(({ certificate }) => findValidityFault(readCertificate(certificate), now) === undefined);
  }

  async function open(envelope: IncomingEnvelope, keepsMessage: boolean): Promise<OpenedMessage> {
    const keys = await trust.findDecryptionKeys(envelope.recipients);
    if (keys.length === 0)
      throw new AgentError('AGENT_NO_DECRYPTION_KEY', 'none of the recipients has a key here');
    const task: AgentTask = {
      kind: 'open',
      message: envelope.message,
      keys,
      ...(options.messagePolicy && { policy: options.messagePolicy }),
    };
    const result = await tasks.run(task, { keepsMessage });
    if (result.kind !== 'open') throw new TypeError('the answer is for another task');
    return result.opened;
  }

  /**
   * Those of the envelope whose own keys, or keys of their domain, open the message: a key opens mail for
   * nobody else.
   */
  async function findEntitled(
    { recipients }: IncomingEnvelope,
    { openedBy }: OpenedMessage,
  ): Promise<readonly DirectAddress[]> {
    if (recipients.length < 2) return recipients;
    const entitled = await Promise.all(
      recipients.map(async (address) => {
        const keys = await trust.findDecryptionKeys([address]);
        return keys.some(({ certificate }) => openedBy.includes(readCertificate(certificate).fingerprint));
      }),
    );
    return recipients.filter((_address, index) => entitled[index]);
  }

  return {
    async resolveRecipients(from, recipients) {
      if (!(await canSign(from))) return { usable: [], refused: recipients.map(refuseForSender) };
      return resolveAll(recipients, {
        ...(await trustOf(domainOf(from), 'outgoing')),
        discovery: options.discovery,
        onPath: emitWarnings,
      });
    },
    async explainRecipient(fromDomain, address, onStep, signal) {
      const { discovery } = options;
      return resolveRecipient(address, {
        ...(await trustOf(fromDomain, 'outgoing')),
        // Uncached, so that the answer is current and each step can be reported.
        discovery: { discover: (wanted) => discovery.discover(wanted, { onStep, signal }) },
      });
    },
    async seal(from, message, recipients) {
      const signers = await trust.findSigningKeys(from);
      if (signers.length === 0)
        throw new AgentError('AGENT_NO_SIGNING_KEY', `${domainOf(from)} has no key to sign with`);
      const task: AgentTask = {
        kind: 'seal',
        message,
        signers,
        recipients: recipients.map(withTransport),
        atMs: clock.now().getTime(),
      };
      const result = await tasks.run(task);
      if (result.kind !== 'seal') throw new TypeError('the answer is for another task');
      return result.sealed.message;
    },
    async openIncoming(envelope, { allowFetch = true, isLastAttempt = false, keepsMessage = false } = {}) {
      const opened = await open(envelope, keepsMessage);
      const recipients = await findEntitled(envelope, opened);
      // One budget for all of our domains: the cost of a message must not grow with the number of its
      // recipients.
      const budget = createValidationBudget();
      const { verified, refused } = await verifyByDomain(
        opened,
        { ...envelope, recipients },
        {
          isLastAttempt,
          trustOf: async (domain) => ({ ...(await trustOf(domain, 'incoming')), budget, allowFetch }),
        },
      );
      for (const { result } of verified) emitWarnings(result.sender, result.path);
      const others = envelope.recipients.filter((address) => !recipients.includes(address));
      const unopened = { recipients: others, code: 'DIRECT_UNKNOWN_RECIPIENT' };
      return describeOpened(opened, verified, others.length === 0 ? refused : [unopened, ...refused]);
    },
    close: () => pool.close(),
  };
}

function refuseForSender(recipient: DirectAddress): RefusedRecipient {
  return {
    recipient,
    reason: 'sender-certificate',
    code: 'DIRECT_SENDER_CERTIFICATE_UNUSABLE',
    // RFC 3463 §3.8: cryptographic failure.
    statusCode: '5.7.5',
    text: 'The sender has no valid certificate.',
    isTransient: false,
  };
}

interface Verified {
  readonly recipients: readonly DirectAddress[];
  readonly result: VerifiedSender;
}

interface Verdicts {
  readonly verified: readonly [Verified, ...Verified[]];
  readonly refused: readonly RefusedIncoming[];
}

interface DomainTrust {
  readonly isLastAttempt: boolean;
  trustOf(domain: string): Promise<SenderTrust>;
}

/**
 * Decides trust for each of our domains on its own anchors (TRUST-03). The domains that trust the sender get
 * the message; if none does, the first refusal is thrown. A question that could not be decided is thrown too,
 * so that all is retried.
 */
async function verifyByDomain(
  opened: OpenedMessage,
  envelope: IncomingEnvelope,
  { trustOf, isLastAttempt }: DomainTrust,
): Promise<Verdicts> {
  const verified: Verified[] = [];
  const refused: (RefusedIncoming & { readonly error: DirectError })[] = [];
  for (const [domain, recipients] of Map.groupBy(envelope.recipients, domainOf)) {
    try {
      const result = await verifySender(
        opened,
        { mailFrom: envelope.mailFrom, recipients },
        await trustOf(domain),
      );
      verified.push({ recipients, result });
    } catch (error) {
      if (!(error instanceof DirectError) || (error.isTransient && !isLastAttempt)) throw error;
      const signer = findRefusedSigner(error);
      refused.push({
        recipients,
        code: refusalReason(error),
        ...(signer && { signer }),
        detail: refusalDetail(error),
        ...(findAnswerable(error) !== undefined && { isAnswerable: true }),
        error,
      });
    }
  }
  const [first, ...others] = verified;
  if (first === undefined)
    throw (
      (refused.find(({ error }) => findAnswerable(error) !== undefined) ?? refused[0])?.error ??
      new AgentError('AGENT_NO_DECRYPTION_KEY', 'the envelope names no recipient')
    );
  return {
    verified: [first, ...others],
    refused: refused.map(({ error: _error, ...one }) => one),
  };
}

/** By the time of the signer that is trusted: whoever can decrypt a message can add others to it. */
function signedNameOf(
  { signedHash }: OpenedMessage,
  { signer: { signingTime } }: VerifiedSender,
): string | undefined {
  return signedHash && signingTime && `${signedHash} ${signingTime.getTime()}`;
}

function unsignedHeaderOf(
  { signedPartHash }: OpenedMessage,
  { signer, recipients }: VerifiedSender,
): UnsignedHeader | undefined {
  if (signedPartHash === undefined) return undefined;
  return { part: `${signedPartHash} ${signer.signingTime?.getTime() ?? ''}`, named: recipients };
}

function describeOpened(
  opened: OpenedMessage,
  verified: Verdicts['verified'],
  refused: readonly RefusedIncoming[],
): OpenedIncoming {
  const [{ result }] = verified;
  return {
    inner: opened.inner,
    sender: result.sender,
    recipients: verified.flatMap((entry) => entry.recipients),
    refused,
    binding: result.path.binding ?? 'domain',
    signedAt: result.signer.signingTime,
    signedName: signedNameOf(opened, result),
    isWrapped: opened.wasWrapped,
    unsignedHeader: unsignedHeaderOf(opened, result),
    signerFingerprint: result.path.certificates[0].fingerprint,
    signerPath: result.path.certificates.map(({ fingerprint, der }) => ({ fingerprint, der })),
    signed: opened.signed,
  };
}

const reasonTable = { AGENT_THREAD_REASON: { kind: 'internal' } } as const;

/** The cause of a thread's error: only its code is transferred. */
class ThreadReason extends CodedError<string> {
  constructor(code: string, cause: ThreadReason | undefined) {
    super({ [code]: reasonTable.AGENT_THREAD_REASON }, code, code, { cause });
  }
}

/** Restores the error of a thread. Anything else is an internal error. */
function restoreError({ code, message, causeCodes }: CodedFailure): Error {
  if (!(code in directErrors)) return new Error(message);
  const cause = causeCodes.reduceRight<ThreadReason | undefined>(
    (beneath, causeCode) => new ThreadReason(causeCode, beneath),
    undefined,
  );
  return new DirectError(code as DirectErrorCode, message, { cause });
}
