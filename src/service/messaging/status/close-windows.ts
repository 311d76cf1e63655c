import type { Kysely } from 'kysely';
import { startWorker, type Worker } from '../../../platform/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';
import { recipientQueries } from './find-recipient.ts';
import { recordEvent } from './record-event.ts';

/** Recipients per batch, and how many of them run at the same time: their transactions share commits. */
const batch = 200;
const atOnce = 20;

/**
 * Ends the waits whose time has come. The timers are rows, so a restart loses none (MDN-25); an MDN that arrives in between
 * wins, because the deadline is looked at again once the recipient is locked.
 */
export async function closeWindows(deps: MessagingDependencies): Promise<number> {
  const nowMs = deps.storage.clock.now().getTime();
  const due = await deps.storage
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
          deps.storage.transaction((tx: Kysely<MessagingTables>) => closeWindow(tx, deps, id, nowMs)),
        ),
    );
  return due.length;
}

async function closeWindow(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  recipientId: string,
  nowMs: number,
): Promise<void> {
  const recipient = await recipientQueries(deps.storage).byId.first(tx, { id: recipientId });
  if (recipient === undefined || recipient.deadline_at === null || recipient.deadline_at > nowMs) return;
  const state = await recordEvent(tx, deps, recipient, { event: 'window-closed', at: deps.clock.now() });
  await deps.audit.recordIn(tx, {
    action: 'message.expire',
    actor: 'system',
    outcome: 'failed',
    objects: { messageId: recipient.wire_id, to: recipient.address, state },
  });
}

/** Looks for closed windows until it is closed. One node does it at a time. */
export function startWindowTimer(deps: MessagingDependencies, idleMs: number): Worker {
  return startWorker<never>({
    name: 'mdn-windows',
    claim: async () => {
      await deps.storage.tryRunExclusive('mdn-windows', async () => {
        while ((await closeWindows(deps)) === batch);
      });
      return [];
    },
    handle: async () => {},
    idleMs,
    concurrency: 1,
    log: deps.log,
  });
}
