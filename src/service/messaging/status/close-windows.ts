import type { Kysely } from 'kysely';
import { startWorker, type Worker } from '../../../platform/index.ts';
import { recordEvent } from './record-event.ts';
import type { MessagingParts } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** Recipients handled in one round. */
const batch = 200;

/**
 * Ends the waits whose time has come. The timers are rows, so a restart loses none (MDN-25); a notice that arrives in
 * between wins, because the deadline is looked at again inside the transaction.
 */
export async function closeWindows(parts: MessagingParts): Promise<number> {
  const nowMs = parts.clock.now().getTime();
  const due = await dueRecipients(parts.storage.tables<MessagingTables>(), nowMs).limit(batch).execute();
  for (const { id } of due)
    await parts.storage.transaction((tx: Kysely<MessagingTables>) => closeWindow(tx, parts, id, nowMs));
  if (due.length > 0) parts.webhooks.wake();
  return due.length;
}

async function closeWindow(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  recipientId: string,
  nowMs: number,
): Promise<void> {
  const stillDue = await dueRecipients(tx, nowMs).where('id', '=', recipientId).executeTakeFirst();
  if (stillDue === undefined) return;
  const state = await recordEvent(tx, parts, recipientId, { event: 'window-closed', at: parts.clock.now() });
  await parts.audit.recordIn(tx, {
    action: 'message.expire',
    actor: 'system',
    outcome: 'failed',
    objects: { recipientId, state: state ?? '' },
  });
}

function dueRecipients(db: Kysely<MessagingTables>, nowMs: number) {
  return db
    .selectFrom('message_recipient')
    .select('id')
    .where('deadline_at', 'is not', null)
    .where('deadline_at', '<=', nowMs);
}

/** Looks for closed windows until it is closed. */
export function startWindowTimer(parts: MessagingParts, idleMs: number): Worker {
  return startWorker<never>({
    name: 'notice-windows',
    claim: async () => {
      while ((await closeWindows(parts)) === batch);
      return [];
    },
    handle: async () => {},
    idleMs,
    concurrency: 1,
    log: parts.log,
  });
}
