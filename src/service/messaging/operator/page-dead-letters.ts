import type { Storage } from '../../../platform/index.ts';
import { listDeadLetters, type DeadLetter } from '../inbound/dead-letters.ts';
import { everything, isOwnedAddress } from '../../organizations/index.ts';
import { readCursor, toPage, type Page, type Position } from './paging.ts';
import { hasAddresses, pickPage, type AddressesQuery } from './pick-page.ts';

export interface DeadLetterQuery extends AddressesQuery {
  /** The code of the last error. */
  readonly reason?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

const positionOf = ({ receivedAt, id }: DeadLetter): Position => ({ at: receivedAt.getTime(), id });

/** Oldest first. A page may be short and still have a next one. Throws MESSAGING_SEARCH_INVALID. */
export function pageDeadLetters(storage: Storage, query: DeadLetterQuery): Promise<Page<DeadLetter>> {
  const { reason, since, until } = query;
  return pickPage(query, {
    read: async ({ limit, cursor }) => {
      const rows = await listDeadLetters(storage, { limit: limit + 1, after: readCursor(cursor) });
      const owned = rows.map((row) => ({
        ...row,
        recipients: row.recipients.filter((one) => isOwnedAddress(query.owned ?? everything, one)),
      }));
      return toPage(owned, limit, positionOf);
    },
    isWanted: ({ mailFrom, recipients, receivedAt, reason: last }) =>
      hasAddresses({ from: mailFrom, to: recipients }, query) &&
      (reason === undefined || reason === last) &&
      (since === undefined || receivedAt >= since) &&
      (until === undefined || receivedAt < until),
    positionOf,
  });
}
