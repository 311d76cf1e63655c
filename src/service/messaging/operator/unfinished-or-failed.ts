import { sql, type RawBuilder } from 'kysely';
import { recipientStatesOf } from '../../../lib/recipient-states/index.ts';
import { inWords, orWords } from '../../../platform/index.ts';

/**
 * The condition of the partial index `message_recipient_state`, word for word: SQLite uses the index for no
 * other.
 */
export function isUnfinishedOrFailed(column: 'state' | 'r.state'): RawBuilder<boolean> {
  return sql<boolean>`(${sql.raw(orWords(column, recipientStatesOf('waiting', 'failed')))})`;
}

/** The same of the indexes `message_recipient_failed_…`. */
export function isFailed(column: 'state' | 'r.state'): RawBuilder<boolean> {
  return sql<boolean>`${sql.raw(inWords(column, recipientStatesOf('failed')))}`;
}
