import { sql, type RawBuilder } from 'kysely';

/** The condition of the partial index `message_recipient_state`, word for word: SQLite uses the index for no other. */
export function isUnfinishedOrFailed(column: 'state' | 'r.state'): RawBuilder<boolean> {
  const state = sql.ref(column);
  return sql<boolean>`(${state} = 'queued' or ${state} = 'sent' or ${state} = 'failed' or ${state} = 'expired')`;
}
