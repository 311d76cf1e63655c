/**
 * MACs on the rows that decide who may do what: organizations, clients, secrets, tokens, domains, addresses,
 * keys, anchors, bundles, webhooks (Decision 0024). Somebody who can write to the database but does not have
 * the vault's keys cannot add or change such a row: it is refused where it is used, with
 * INTEGRITY_ROW_CHANGED, an audit row and an error in the log.
 *
 * Not here: that a row was deleted, or replaced by an older version of itself, does not show in a MAC; the
 * audit chain reveals it. Called by the services that own the tables, and by `openhisp verify`.
 */
export {
  createRowGuard,
  guardTables,
  type MacColumn,
  type RowGuard,
  type GuardedTable,
} from './row-guard.ts';
export { createRowAlarm, type RowAlarm } from './row-alarm.ts';

export { acceptRow, findChangedRows } from './find-changed-rows.ts';
