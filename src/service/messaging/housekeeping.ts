import { sql, type Kysely } from 'kysely';
import { referenceBytes, startWorker, type Worker } from '../../platform/index.ts';
import type { MessagingParts } from './ports.ts';
import type { MessagingTables } from './tables.ts';

/** How long things are kept, in milliseconds (Decision 0014, SEC-08). */
export interface Retention {
  /** Unacknowledged mail older than this is reported to the operator once; it is never deleted. */
  readonly warnUnacknowledgedMs: number;
  /** Acknowledged mail is deleted after this. */
  readonly keepAcknowledgedMs: number;
  /** What a send request said beside its status is deleted after this; status and history stay. */
  readonly keepDetailsMs: number;
}

const dayMs = 86_400_000;

export const defaultRetention: Retention = {
  warnUnacknowledgedMs: 30 * dayMs,
  keepAcknowledgedMs: 30 * dayMs,
  keepDetailsMs: 30 * dayMs,
};

/** A sender that asked for final delivery usually waits an hour; after half of it the operator learns of it (MDN-14). */
const warnUndispatchedMs = 30 * 60_000;
const everyMs = 60_000;
const batch = 500;

/** One round of cleaning and warning. */
export async function keepHouse(parts: MessagingParts, retention: Retention): Promise<void> {
  const nowMs = parts.clock.now().getTime();
  await warnWaiting(parts, nowMs, retention);
  await parts.storage.transaction(async (tx: Kysely<MessagingTables>) => {
    await deleteAcknowledged(tx, parts, nowMs - retention.keepAcknowledgedMs);
    await tx
      .updateTable('message')
      .set({ sealed_details: null })
      .where('sealed_details', 'is not', null)
      .where('created_at', '<', nowMs - retention.keepDetailsMs)
      .execute();
  });
  await parts.contents.sweep();
}

async function warnWaiting(parts: MessagingParts, nowMs: number, retention: Retention): Promise<void> {
  const db = parts.storage.tables<MessagingTables>();
  const old = await db
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select(['c.id', 'c.address', 'c.received_at', 'm.requests_final_delivery'])
    .where('c.acknowledged_at', 'is', null)
    .where('c.warned_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('c.received_at', '<', nowMs - retention.warnUnacknowledgedMs),
        eb.and([
          eb('c.received_at', '<', nowMs - warnUndispatchedMs),
          eb('m.requests_final_delivery', '=', 1),
        ]),
      ]),
    )
    .limit(batch)
    .execute();
  for (const copy of old)
    parts.log.warn(
      { copyId: copy.id, to: copy.address, receivedAt: new Date(copy.received_at).toISOString() },
      'a received message waits for its edge client',
    );
  const ids = old.map((copy) => copy.id);
  if (ids.length > 0)
    await db.updateTable('inbox_copy').set({ warned_at: nowMs }).where('id', 'in', ids).execute();
}

async function deleteAcknowledged(
  tx: Kysely<MessagingTables>,
  { contents }: MessagingParts,
  beforeMs: number,
): Promise<void> {
  const copies = await tx
    .selectFrom('inbox_copy')
    .select(['id', 'message_id'])
    .where('acknowledged_at', 'is not', null)
    .where('acknowledged_at', '<', beforeMs)
    .limit(batch)
    .execute();
  if (copies.length === 0) return;
  await tx
    .deleteFrom('inbox_copy')
    .where(
      'id',
      'in',
      copies.map((copy) => copy.id),
    )
    .execute();
  const removed = await tx
    .deleteFrom('inbox_message')
    .where(
      'id',
      'in',
      copies.map((copy) => copy.message_id),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom('inbox_copy').select('id').whereRef('inbox_copy.message_id', '=', 'inbox_message.id'),
        ),
      ),
    )
    // A small content itself is not needed, only where a large one lies.
    .returning(sql<Uint8Array>`substr(sealed_message, 1, ${sql.lit(referenceBytes)})`.as('start'))
    .execute();
  for (const row of removed) await contents.releaseIn(tx, row.start);
}

/** Cleans and warns once a minute until it is closed. */
export function startHousekeeping(parts: MessagingParts, retention: Retention): Worker {
  return startWorker<never>({
    name: 'messaging-housekeeping',
    claim: async () => {
      await keepHouse(parts, retention);
      return [];
    },
    handle: async () => {},
    idleMs: everyMs,
    concurrency: 1,
    log: parts.log,
  });
}
