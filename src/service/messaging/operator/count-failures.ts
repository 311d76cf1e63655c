import { sql } from 'kysely';
import { recipientStatesOf } from '../../../lib/recipient-states/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { everything, whereOwned, type Owned } from '../../organizations/index.ts';
import { isFailureReason, type FailureReason } from '../reasons.ts';
import type { MessagingTables } from '../tables.ts';
import { isUnfinishedOrFailed } from './unfinished-or-failed.ts';

/** Counted at most, the newest. */
const maxCounted = 20_000;

/**
 * Recipients of messages accepted since a time that failed or expired, by reason, the most frequent first.
 */
export async function countFailures(
  storage: Storage,
  since: Date,
  owned: Owned = everything,
): Promise<readonly { readonly reason: FailureReason; readonly count: number }[]> {
  const counts = new Map<FailureReason, number>();
  for (const state of recipientStatesOf('failed')) {
    const rows = await storage
      .tables<MessagingTables>()
      .selectFrom((eb) =>
        eb
          .selectFrom('message_recipient')
          .select('reason')
          .where('state', '=', state)
          // The condition of the partial index.
          .where(isUnfinishedOrFailed('state'))
          .where('created_at', '>=', since.getTime())
          .where(whereOwned(owned, 'clients', sql.ref('client_id')))
          .orderBy('created_at', 'desc')
          .limit(maxCounted)
          .as('newest'),
      )
      .select(['reason', sql<number>`count(*)`.as('count')])
      .groupBy('reason')
      .execute();
    for (const { reason, count } of rows)
      if (isFailureReason(reason)) counts.set(reason, (counts.get(reason) ?? 0) + Number(count));
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count);
}
