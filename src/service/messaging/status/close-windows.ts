import type { Kysely } from 'kysely';
import { startWorker, type Worker } from '../../../platform/index.ts';
import type { MessagingParts } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';
import { recipientQueries } from './find-recipient.ts';
import { recordEvent } from './record-event.ts';

/** Recipients handled in one round, and how many of them at the same time: their transactions share commits. */
const batch = 200;
const atOnce = 20;

/**
 * Ends the waits whose time has come. The timers are rows, so a restart loses none (MDN-25); an MDN that arrives in between
 * wins, because the deadline is looked at again once the recipient is locked.
 */
export async function closeWindows(parts: MessagingParts): Promise<number> {
  const nowMs = parts.storage.clock.now().getTime();
  const due = await parts.storage
    .tables<MessagingTables>()
    .selectFrom('message_recipient')
    .select('id')
    .where('deadline_at', '<=', nowMs)
    .orderBy('deadline_at')
    .limit(batch)
    .execute();
  for (let start = 0; start < due.length; start += atOnce)
    await Promise.all(
      due
        .slice(start, start + atOnce)
        .map(({ id }) =>
          parts.storage.transaction((tx: Kysely<MessagingTables>) => closeWindow(tx, parts, id, nowMs)),
        ),
    );
  return due.length;
}

async function closeWindow(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  recipientId: string,
  nowMs: number,
): Promise<void> {
  const recipient = await recipientQueries(parts.storage).byId.first(tx, { id: recipientId });
  if (recipient === undefined || recipient.deadline_at === null || recipient.deadline_at > nowMs) return;
  const state = await recordEvent(tx, parts, recipient, { event: 'window-closed', at: parts.clock.now() });
  await parts.audit.recordIn(tx, {
    action: 'message.expire',
    actor: 'system',
    outcome: 'failed',
    objects: { messageId: recipient.wire_id, to: recipient.address, state },
  });
}

/** Looks for closed windows until it is closed. One node does it at a time. */
export function startWindowTimer(parts: MessagingParts, idleMs: number): Worker {
  return startWorker<never>({
    name: 'mdn-windows',
    claim: async () => {
      await parts.storage.tryAlone('mdn-windows', async () => {
        while ((await closeWindows(parts)) === batch);
      });
      return [];
    },
    handle: async () => {},
    idleMs,
    concurrency: 1,
    log: parts.log,
  });
}
