import type { Closable } from '../../core/index.ts';
import type {
  DiscoverySource,
  DiscoveryStep,
  RefusedRecipient as Refused,
  UsableRecipient as Judged,
} from '../../lib/direct/index.ts';
import type { Certificate } from '../../lib/pki/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';

/** A recipient whose certificates were found, validated and bound; messages are sealed only for these. */
export interface UsableRecipient {
  readonly address: DirectAddress;
  /** DER; every usable certificate, so that any of the recipient's keys opens the message (AS-43). */
  readonly certificates: readonly Uint8Array[];
  /** One per certificate. */
  readonly findings?: readonly CertificateFinding[];
  /** The certificates of their paths, each once, so that they can be named later. */
  readonly pathCertificates?: readonly PathCertificate[];
}

/** Findings about one certificate, for operators. */
export interface CertificateFinding {
  /** SHA-256, lower-case hex. */
  readonly fingerprint: string;
  /** Where it was found. */
  readonly source?: DiscoverySource;
  /** That place was not asked for this message: its answer was cached. */
  readonly isCached?: true;
  /** Fingerprint of the anchor that its path leads to; undefined for a refused certificate. */
  readonly anchor?: string;
  /** Between the certificate and its anchor, lowest first; undefined if there is none. */
  readonly via?: readonly string[];
  /** A `PKI_*` code; undefined for a usable one. */
  readonly code?: string;
  /** For a refused certificate: the facts that explain the refusal to a person. */
  readonly refused?: RefusedFacts;
}

/** Names of certificate holders and CAs, never of patients; times are ISO 8601. */
export interface RefusedFacts {
  readonly subject: string;
  readonly issuer: string;
  readonly notBefore: string;
  readonly notAfter: string;
  readonly text: string;
  /** The certificate that failed, if it is another one on its path. */
  readonly failedAt?: string;
}

export interface RefusedRecipient {
  readonly recipient: DirectAddress;
  /** `sender-certificate`: the sender has no valid certificate, so it cannot send to anyone. */
  readonly reason: 'no-certificate' | 'untrusted' | 'sender-certificate';
  /** The agent's own code, for example `DIRECT_RECIPIENT_UNTRUSTED`. */
  readonly code: string;
  /** Enhanced status code (RFC 3463). */
  readonly statusCode: string;
  readonly text: string;
  /** True if the question could not be decided now, for example when DNS did not answer (DISC-11). */
  readonly isTransient: boolean;
  /** One per certificate that was discovered. */
  readonly findings?: readonly CertificateFinding[];
}

export interface ResolvedRecipients {
  readonly usable: readonly UsableRecipient[];
  readonly refused: readonly RefusedRecipient[];
}

/** One certificate of a validated path. */
export interface PathCertificate {
  /** SHA-256 of `der`, lower-case hex. */
  readonly fingerprint: string;
  readonly der: Uint8Array;
}

/** Whose certificate mail was refused for. */
export interface SignerFinding {
  readonly fingerprint: string;
  /** Of the signer's certificate. */
  readonly names: Pick<Certificate, 'subject' | 'issuer' | 'notBefore' | 'notAfter'>;
  /** The signer's first, then its issuers, lowest first, as far as they are known and may be kept. */
  readonly certificates: readonly PathCertificate[];
  /** Fingerprint of the last one if it is an anchor. */
  readonly anchor: string | undefined;
  /** Fingerprint of the one that is refused. */
  readonly failedAt: string;
}

/** A message from another HISP that was opened, verified and trusted. */
export interface OpenedIncoming {
  /** The inner RFC 5322 message, exactly as it was signed. */
  readonly inner: Uint8Array;
  /** The sender that the verified signer is bound to (AS-79). */
  readonly sender: DirectAddress;
  /** Our addresses among the envelope's recipients that trust the sender. */
  readonly recipients: readonly DirectAddress[];
  /** The others, for the audit trail (AS-78). */
  readonly refused: readonly RefusedIncoming[];
  /** Binding of the signer's certificate: to one address, or to the whole domain. */
  readonly binding: 'address' | 'domain';
  /** The signing time claimed by the sender; undefined if there is none. */
  readonly signedAt?: Date | undefined;
  /**
   * Of a message whose header is not signed: names what is signed, the same under any header that somebody
   * may put on it. Undefined for others, without a boundary and without a signing time, since a sender may
   * sign the same text twice.
   */
  readonly signedName?: string | undefined;
  /** The header is inside of the signed message/rfc822 wrapper. */
  readonly isWrapped?: boolean | undefined;
  /** Of a message whose header is not signed. */
  readonly unsignedHeader?: UnsignedHeader | undefined;
  /** SHA-256 of the signer's certificate, lower-case hex. */
  readonly signerFingerprint: string;
  /** The validated path, the signer first, the anchor last. */
  readonly signerPath: readonly PathCertificate[];
  /** The signed entity as received, signature included; undefined if it is larger than an MDN is. */
  readonly signed?: Uint8Array | undefined;
}

export interface UnsignedHeader {
  /** Names the signed part, with the time of its signature. */
  readonly part: string;
  /** The Direct addresses of To and Cc, which anybody can have written. */
  readonly named: readonly DirectAddress[];
}

/** Recipients that do not get a message which others get. */
export interface RefusedIncoming {
  readonly recipients: readonly DirectAddress[];
  /**
   * `DIRECT_UNKNOWN_RECIPIENT` if it is not encrypted to a key of theirs, else why their domain does not
   * trust the sender.
   */
  readonly code: string;
  /** Which certificate or limit, in words; may be empty. */
  readonly detail?: string;
  readonly signer?: SignerFinding;
  /** Their domain trusts the sender, who may be told. */
  readonly isAnswerable?: boolean;
}

export interface IncomingEnvelope {
  readonly mailFrom: string;
  readonly recipients: readonly DirectAddress[];
  readonly message: Uint8Array;
}

export interface OpenOptions {
  /**
   * False to judge without fetching issuers for an unknown sender: where only that could decide, the message
   * is refused with `DIRECT_SENDER_NEEDS_FETCH`, transient, to be opened again with fetching allowed. Lists
   * of revoked certificates of a known sender's CA are fetched all the same. Default true.
   */
  readonly allowFetch?: boolean;
  /**
   * True if the caller needs the message's memory afterwards. Default false: the agent takes over that of a
   * large message.
   */
  readonly keepsMessage?: boolean;
  /**
   * True if the message will not be opened again: of our domains, those that trust the sender get it although
   * another domain could not decide now. Default false: an undecided domain refuses the message as transient
   * for all.
   */
  readonly isLastAttempt?: boolean;
}

/** The decision that a send would make about an address. */
export type RecipientVerdict = Judged | Refused;

/**
 * The security and trust agent with our keys and anchors; its cryptography runs in worker threads, that of
 * small messages in the caller's.
 */
export interface Agent extends Closable {
  /**
   * Finds each recipient's certificates and validates them from the anchors of the sender's domain (AS-42,
   * TRUST-09). A sender without a valid signing certificate can write to none of them.
   */
  resolveRecipients(from: DirectAddress, recipients: readonly DirectAddress[]): Promise<ResolvedRecipients>;
  /**
   * Wraps, signs as `from` and encrypts a plain RFC 5322 message once for all recipients (AS-30, AS-41).
   * Returns the outer RFC 5322 message. The memory of a large `message` is taken over: the caller must not
   * use it again. Throws AGENT_NO_SIGNING_KEY.
   */
  seal(from: DirectAddress, message: Uint8Array, recipients: readonly UsableRecipient[]): Promise<Uint8Array>;
  /**
   * Opens, verifies and decides trust (AS-70 to AS-79). The memory of a large message is taken over, as by
   * `seal`. All certificates of the message share one budget of time and fetches. Throws a DirectError that
   * says why a message is refused.
   */
  openIncoming(envelope: IncomingEnvelope, options?: OpenOptions): Promise<OpenedIncoming>;
}

/** Predicts the decision of a send. */
export interface RecipientExplainer {
  /**
   * Judges one address as a send from one of our domains would, by the same discovery and validation, and
   * reports each step as it is done. Sends nothing. Throws the reason of `signal` when that is aborted.
   */
  explainRecipient(
    fromDomain: string,
    address: DirectAddress,
    onStep: (step: DiscoveryStep) => void,
    signal?: AbortSignal,
  ): Promise<RecipientVerdict>;
}
