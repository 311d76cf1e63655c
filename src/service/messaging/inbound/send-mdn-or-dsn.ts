import type { Kysely } from 'kysely';
import { createTimedUuid } from '../../../core/index.ts';
import { buildDsn, buildMdn } from '../../../lib/mdn/index.ts';
import { domainOf, parseDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** Product name in Reporting-UA; letters only, because old test tools allow no more (MDN-06). */
const product = 'openhisp';

/** The message that an MDN answers. */
export interface Original {
  readonly sender: DirectAddress;
  /** With angle brackets; undefined if the message had none. */
  readonly wireId: string | undefined;
  /** The octets of its Message-ID field as they came (`readHeaderOctets`). */
  readonly idOctets: string | undefined;
  /** The id of the stored copy that is answered, by which attempts name a message without a Message-ID. */
  readonly copyId?: string | undefined;
  /** Sentences about what of its content is damaged, for the text of an MDN. */
  readonly damage?: readonly string[];
}

/** Of damage told in one MDN. */
const maxRemarks = 20;

/** What an MDN tells of damaged packages. */
export function toRemarks(damage: readonly { readonly detail: string }[]): readonly string[] {
  return damage.slice(0, maxRemarks).map(({ detail }) => detail);
}

/** Queues one MDN by one local recipient, signed as that recipient (MDN-01a, MDN-03, MDN-10). */
export async function enqueueMdn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  recipient: DirectAddress,
  original: Original,
  disposition: 'processed' | 'dispatched',
): Promise<void> {
  const at = deps.clock.now();
  const id = createTimedUuid(at);
  const message = buildMdn({
    disposition,
    finalRecipient: recipient,
    originalSender: original.sender,
    originalMessageId: original.idOctets,
    reportingUa: { host: deps.identity.hostname, product },
    date: at,
    messageId: `<${id}@${domainOf(recipient)}>`,
    isFinalDelivery: disposition === 'dispatched',
    ...(original.damage === undefined ? {} : { remarks: original.damage }),
  });
  await deps.delivery.enqueue(tx, {
    deliveryId: id,
    ...nameOf(original),
    kind: 'mdn',
    from: recipient,
    recipients: [original.sender],
    message,
  });
  await auditMdn(tx, deps, `mdn.${disposition}`, { id, from: recipient, original });
}

/** As it is stored with the message, so that a legal hold on that finds the attempts (Decision 0034). */
function nameOf({ wireId, copyId }: Original): { readonly messageId?: string } {
  if (wireId !== undefined) return { messageId: wireId };
  return copyId === undefined ? {} : { messageId: `urn:uuid:${copyId}` };
}

/** Why a message could not be delivered here. */
export interface Failure {
  /** RFC 3463. */
  readonly status: string;
  readonly diagnostic: string;
}

/** A DSN in the making. */
export interface PlannedDsn {
  readonly from: DirectAddress;
  /** At least one, all of its domain. */
  readonly recipients: readonly DirectAddress[];
}

/** Why a message could not be delivered here, and when it came. */
interface FailedMail extends Failure {
  readonly arrivedAt: Date;
}

/**
 * One DSN for each of our domains, from its postmaster. Where only addresses have keys, nobody can sign as
 * the postmaster: then an address that has one signs for itself.
 */
export async function planDsns(
  { trust }: Pick<MessagingDependencies, 'trust'>,
  recipients: readonly DirectAddress[],
): Promise<readonly PlannedDsn[]> {
  const dsns: PlannedDsn[] = [];
  for (const [domain, addresses] of Map.groupBy(recipients, domainOf)) {
    const postmaster = parseDirectAddress(`postmaster@${domain}`);
    const canSign = async (address: DirectAddress) => (await trust.findSigningKeys(address)).length > 0;
    const signing = (await canSign(postmaster))
      ? []
      : (await Promise.all(addresses.map(async (one) => ((await canSign(one)) ? [one] : [])))).flat();
    const others = addresses.filter((address) => !signing.includes(address));
    dsns.push(...signing.map((from) => ({ from, recipients: [from] })));
    if (others.length > 0) dsns.push({ from: postmaster, recipients: others });
  }
  return dsns;
}

/** Queues a DSN, secured like a message (DSN-05, MDN-12). */
export async function enqueueFailure(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  { from, recipients }: PlannedDsn,
  original: Original,
  { arrivedAt, ...failure }: FailedMail,
): Promise<void> {
  const at = deps.clock.now();
  const id = createTimedUuid(at);
  const message = buildDsn({
    reportingMta: deps.identity.hostname,
    from,
    to: original.sender,
    date: at,
    messageId: `<${id}@${domainOf(from)}>`,
    originalMessageId: original.idOctets,
    arrivedAt,
    recipients: recipients.map((finalRecipient) => ({
      finalRecipient,
      action: 'failed',
      ...failure,
    })),
  });
  await deps.delivery.enqueue(tx, {
    deliveryId: id,
    ...nameOf(original),
    kind: 'dsn',
    from,
    recipients: [original.sender],
    message,
  });
  await auditMdn(tx, deps, 'dsn.failed', { id, from, original });
}

async function auditMdn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  action: string,
  { id, from, original }: { id: string; from: DirectAddress; original: Original },
): Promise<void> {
  await deps.audit.recordIn(tx, {
    action,
    actor: 'system',
    outcome: 'ok',
    objects: { deliveryId: id, from, to: original.sender, messageId: original.wireId?.slice(0, 255) ?? '' },
  });
}
