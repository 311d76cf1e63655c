/**
 * Evidence of delivery: attempts and signed MDNs of one message in one signed document.
 * Used by `service/messaging`.
 * Begin with `buildEvidence` here, then `sign-evidence.ts`.
 */
import { readTexts } from '../../../core/index.ts';
import { domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import { describeMessages, type RecipientStatus } from '../status/find-status.ts';
import type { MdnEvidenceRow, MessageRow, MessagingTables } from '../tables.ts';
import { toAttempt, type Attempt } from './attempts.ts';
import { evidenceContext } from './keep-mdn.ts';

/** The input of the evidence. */
export type EvidenceDependencies = Pick<MessagingDependencies, 'storage' | 'vault' | 'clock'> & {
  readonly delivery: Pick<MessagingDependencies['delivery'], 'findWaiting' | 'listAttempts'>;
};

/**
 * The record of one message's delivery, without its content. Names are those of the wire; times are ISO 8601.
 */
export interface EvidenceDocument {
  readonly type: 'direct-delivery-evidence';
  readonly version: 1;
  readonly createdTime: string;
  readonly messageId: string;
  /** The `Message-ID` by which MDNs name the message. */
  readonly wireMessageId: string;
  readonly fromDirectAddress: string;
  readonly acceptedTime: string;
  readonly result: readonly RecipientEvidence[];
}

export interface RecipientEvidence {
  readonly toDirectAddress: string;
  readonly status: string;
  readonly statusTime: string;
  readonly reason: string;
  readonly statusCode: string;
  readonly history: readonly Readonly<Record<string, string | boolean>>[];
  /** At this recipient's destination, oldest first. */
  readonly attempts: readonly AttemptEvidence[];
  /** Oldest first. */
  readonly mdns: readonly MdnEvidence[];
}

export interface AttemptEvidence {
  readonly time: string;
  readonly durationMs: number;
  readonly host: string;
  readonly address: string;
  readonly tls: string;
  readonly reply: string;
  readonly outcome: string;
  readonly code: string;
  /** SHA-256 of the signed and encrypted message that was sent, hex; empty if none was. */
  readonly sentSha256: string;
  /** The recipients' certificates that were considered, with the anchor or the reason of refusal. */
  readonly certificates: readonly unknown[];
}

export interface MdnEvidence {
  readonly receivedTime: string;
  /** SHA-256 fingerprints of the validated path: the signer first, the anchor last. */
  readonly signerPath: readonly string[];
  /** The certificates of that path in the same order, DER in base64; empty for one that is not stored. */
  readonly signerCertificates: readonly string[];
  /** The signed MIME entity as received, base64; its signature can be verified by anyone. */
  readonly signedMdn: string;
}

/** Gathers the stored data about the delivery of a message. */
export async function buildEvidence(
  deps: EvidenceDependencies,
  message: MessageRow,
): Promise<EvidenceDocument> {
  const [status] = await describeMessages(deps, [message]);
  if (status === undefined) throw new TypeError('a message without a status');
  const attempts = (await deps.delivery.listAttempts([message.id])).map(toAttempt);
  const found = (await findMdns(deps, message)).map((row) => ({
    ...row,
    path: readTexts(row.signer_path),
  }));
  const certificates = await findCertificates(deps, new Set(found.flatMap(({ path }) => path)));
  const mdns = Map.groupBy(found, ({ address }) => address);
  return {
    type: 'direct-delivery-evidence',
    version: 1,
    createdTime: deps.clock.now().toISOString(),
    messageId: status.messageId,
    wireMessageId: message.wire_id,
    fromDirectAddress: message.sender,
    acceptedTime: status.acceptedAt.toISOString(),
    result: status.recipients.map((recipient) => ({
      ...describeRecipient(recipient),
      attempts: attempts
        .filter(({ destination }) => destination === domainOf(recipient.address as DirectAddress))
        .map((attempt) => describeAttempt(attempt, recipient.address)),
      mdns: (mdns.get(recipient.address) ?? []).map((row) => ({
        receivedTime: new Date(row.received_at).toISOString(),
        signerPath: row.path,
        signerCertificates: row.path.map((fingerprint) => certificates.get(fingerprint) ?? ''),
        signedMdn: Buffer.from(deps.vault.decrypt(row.sealed_mdn, evidenceContext(row.id))).toString(
          'base64',
        ),
      })),
    })),
  };
}

function findMdns(
  { storage }: EvidenceDependencies,
  message: MessageRow,
): Promise<readonly (MdnEvidenceRow & { address: string })[]> {
  return storage
    .tables<MessagingTables>()
    .selectFrom('mdn_evidence as e')
    .innerJoin('message_recipient as r', 'r.id', 'e.recipient_id')
    .selectAll('e')
    .select('r.address')
    .where('r.message_id', '=', message.id)
    .orderBy('e.received_at')
    .orderBy('e.id')
    .execute();
}

async function findCertificates(
  { storage }: EvidenceDependencies,
  fingerprints: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  if (fingerprints.size === 0) return new Map();
  const rows = await storage
    .tables<MessagingTables>()
    .selectFrom('path_certificate')
    .select(['fingerprint', 'der'])
    .where('fingerprint', 'in', [...fingerprints])
    .execute();
  return new Map(rows.map(({ fingerprint, der }) => [fingerprint, Buffer.from(der).toString('base64')]));
}

function describeAttempt(attempt: Attempt, recipient: string): AttemptEvidence {
  const { startedAt, durationMs, host, address, tls, reply, outcome, code, sentHash, certificates } = attempt;
  return {
    time: startedAt.toISOString(),
    durationMs,
    host,
    address,
    tls,
    reply,
    outcome,
    code,
    sentSha256: sentHash,
    certificates: certificates.filter((one) => concerns(one, recipient)),
  };
}

// Evidence for one recipient must not contain other recipients of the same domain.
function concerns(finding: unknown, address: string): boolean {
  return typeof finding === 'object' && finding !== null && 'to' in finding && finding.to === address;
}

function describeRecipient(recipient: RecipientStatus): Omit<RecipientEvidence, 'attempts' | 'mdns'> {
  return {
    toDirectAddress: recipient.address,
    status: recipient.state,
    statusTime: recipient.at.toISOString(),
    reason: recipient.reason,
    statusCode: recipient.statusCode,
    history: recipient.history.map(({ time, isLate, ...entry }) => ({
      time: time.toISOString(),
      late: isLate,
      ...entry,
    })),
  };
}
