import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { prepareInsert, type AnyTransaction } from '../../../platform/index.ts';
import { addressKey, domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** A duplicate is answered at most once in this time. */
const answerEveryMs = 3_600_000;

/** The identity of a message, independent of its envelope. */
export interface Identity {
  readonly sender: DirectAddress;
  /** With angle brackets; undefined if the message had none. */
  readonly wireId: string | undefined;
  /** The octets of the Message-ID field as they came, for answers. */
  readonly idOctets: string | undefined;
  /** SHA-256 of the inner message, hex. */
  readonly contentHash: string;
  /** Instead of the two, if the header is not signed: anybody may have written it. */
  readonly signedName?: string | undefined;
}

const queriesOf = perStorage((storage) => ({
  insert: prepareInsert<MessagingTables, 'received_register'>(storage, 'received_register', (insert) =>
    insert.onConflict((conflict) => conflict.column('hash').doNothing()),
  ),
  answer: storage.prepare<MessagingTables, { hash: Uint8Array; now: number; before: number }>(
    (db, { hash, now, before }) =>
      db
        .updateTable('received_register')
        .set({ answered_at: now })
        .where('hash', '=', hash)
        .where('answered_at', '<=', before),
  ),
}));

/**
 * Notes that this was received. False if it was received before, however long ago and by whichever node: two
 * transactions that note the same at once are distinguished by the primary key.
 */
export async function registerIn(
  tx: AnyTransaction,
  { storage }: Pick<MessagingDependencies, 'storage'>,
  hash: Uint8Array,
  receivedAt: Date,
): Promise<boolean> {
  const row = { hash, received_at: receivedAt.getTime(), answered_at: 0 };
  return (await queriesOf(storage).insert.run(tx, [row])) > 0;
}

/** When this was noted, in epoch milliseconds; undefined if it was not. */
export async function registeredAtIn(
  tx: Kysely<MessagingTables>,
  hash: Uint8Array,
): Promise<number | undefined> {
  const found = await tx
    .selectFrom('received_register')
    .select('received_at')
    .where('hash', '=', hash)
    .executeTakeFirst();
  return found?.received_at;
}

/** True if a duplicate may be answered now: once per hour, so that replays cannot make this service send. */
export async function mayAnswerIn(
  tx: AnyTransaction,
  { storage, clock }: Pick<MessagingDependencies, 'storage' | 'clock'>,
  hash: Uint8Array,
): Promise<boolean> {
  const now = clock.now().getTime();
  const changed = await queriesOf(storage).answer.run(tx, { hash, now, before: now - answerEveryMs });
  return changed > 0;
}

/**
 * Of a message and one recipient. A sender that reuses a Message-ID for another content must not make us lose
 * the second message, so the content counts.
 */
export function hashForRecipient(identity: Identity, recipient: DirectAddress): Uint8Array {
  return hash(identity, addressKey(recipient));
}

/** The sender and all recipients of an MDN or DSN, or of a message without a local recipient. */
export function hashForAll(
  identity: Identity,
  purpose: 'report' | 'undeliverable',
  recipients: readonly DirectAddress[],
): Uint8Array {
  return hash(identity, [purpose, ...recipients.map(addressKey).toSorted()]);
}

function hash({ sender, wireId = '', contentHash, signedName }: Identity, forWhom: unknown): Uint8Array {
  // Of a header that is not signed only the sender's domain is sure: that of the certificate.
  const identity =
    signedName === undefined
      ? [addressKey(sender), wireId, forWhom, contentHash]
      : [domainOf(sender), '', forWhom, signedName];
  const key = JSON.stringify(identity);
  return createHash('sha256').update(key).digest();
}
