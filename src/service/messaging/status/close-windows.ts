import type { Kysely } from 'kysely';
import { startRounds, type Rounds } from '../../../platform/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';
import { recipientQueries } from './find-recipient.ts';
import { recordEvent } from './record-event.ts';

/** Recipients per batch, and how many of them run at the same time: their transactions share commits. */
const batch = 200;
const atOnce = 20;

/**
 * Ends the waits whose time has come. The timers are rows, so a restart loses none (MDN-25); an MDN that
 * arrives in between wins, because the deadline is looked at again once the recipient is locked.
 */
export async function closeWindows(
  deps: MessagingDependencies,
  nowMs = deps.storage.clock.now().getTime(),
): Promise<number> {
  const due = await deps.storage
    .tables<MessagingTables>()
    .selectFrom('message_recipient')
    .select('id')
    .where('deadline_at', '<=', nowMs)
    .orderBy('deadline_at')
    .limit(batch)
    .execute();
  const failures: unknown[] = [];
  for (let start = 0; start < due.length; start += atOnce) {
    const done = await Promise.allSettled(
      due
        .slice(start, start + atOnce)
        .map(({ id }) =>
          deps.storage.transaction((tx: Kysely<MessagingTables>) => closeWindow(tx, deps, id, nowMs)),
        ),
    );
    for (const one of done) if (one.status === 'rejected') failures.push(one.reason);
  }
  // Told after the others are closed: one that was changed in the database must not keep them open.
  if (failures.length > 0) throw failures[0];
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
    objects: {
      deliveryId: recipient.message_id,
      messageId: recipient.wire_id,
      from: recipient.sender,
      to: recipient.address,
      state,
    },
  });
}

/**
 * If nobody has closed windows for this long, no node could take MDNs either: all were down, or the database
 * was.
 */
const outageMs = 60_000;
/**
 * The time in which mail servers send again what they could not deliver meanwhile: retries are half an hour
 * apart (RFC 5321 §4.5.4.1). A shorter window is for tests, and not extended.
 */
const graceMs = 35 * 60_000;

/**
 * After an outage of this service, lets recipients wait longer for MDNs that their servers could not deliver:
 * else messages that arrived well would be reported as expired, which is final. Returns how many wait longer.
 */
async function extendWindows({ storage, settings, log }: MessagingDependencies): Promise<number> {
  if (settings.processedWindowMinutes * 60_000 < graceMs) return 0;
  const nowMs = storage.clock.now().getTime();
  const [until, missedBefore] = [nowMs + graceMs, nowMs - outageMs];
  const ending = (db: Kysely<MessagingTables>, before: number) =>
    db.selectFrom('message_recipient').select('id').where('deadline_at', '<', before);
  if ((await ending(storage.tables(), missedBefore).limit(1).executeTakeFirst()) === undefined) return 0;
  let extended = 0;
  for (let count = batch; count === batch; extended += count)
    count = await storage.transaction(async (tx: Kysely<MessagingTables>) => {
      // Those that were missed come last: if this ends halfway, the next node still finds that there was an
      // outage.
      const some = ending(tx, until).orderBy('deadline_at', 'desc').orderBy('id').limit(batch);
      const rows = await storage.forUpdate(some).execute();
      const ids = rows.map(({ id }) => id);
      await tx
        .updateTable('message_recipient')
        .set({ deadline_at: until })
        .where('id', 'in', [...ids, ''])
        .execute();
      return rows.length;
    });
  log.warn(
    { recipients: extended, minutes: graceMs / 60_000 },
    'no MDNs could be received for a while; the wait for those of some recipients is extended',
  );
  return extended;
}

/** Looks for closed windows until it is closed. One node does it at a time. `monotonicMs` is for tests. */
export function startWindowTimer(
  deps: MessagingDependencies,
  everyMs: number,
  monotonicMs: () => number = () => performance.now(),
): Rounds {
  let lookedAt = -Infinity;
  return startRounds({
    name: 'mdn-windows',
    everyMs,
    log: deps.log,
    async work() {
      const startedMs = monotonicMs();
      const looked = await deps.storage.tryRunExclusive('mdn-windows', async () => {
        for (let count = batch; count === batch;) {
          // Both are taken before the step: if the outage begins while it waits for the database, it closes
          // nothing that ends in it.
          const nowMs = deps.storage.clock.now().getTime();
          const beganMs = monotonicMs();
          if (beganMs - lookedAt > outageMs) await extendWindows(deps);
          lookedAt = beganMs;
          count = await closeWindows(deps, nowMs);
        }
        return true;
      });
      // Another node that looks now counts as well, but not for an outage: it may fail before it has extended
      // all windows.
      if (looked === undefined && startedMs - lookedAt <= outageMs) lookedAt = startedMs;
    },
  });
}
