import { type Kysely, sql } from 'kysely';
import { readJsonObject } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { changeActions } from './actions.ts';
import type { AuditRow, AuditTables } from './chain.ts';
import { type AuditChannel, type AuditOrigin, channelOf } from './origin.ts';

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly requestId?: string | undefined;
  readonly outcome?: string | undefined;
  /** Only changes, which are few among all rows. */
  readonly isChange?: boolean | undefined;
  readonly since?: Date | undefined;
  /** Rows before this time. */
  readonly until?: Date | undefined;
  /** Only rows before this sequence number, to page backwards. */
  readonly before?: number | undefined;
  /** Only rows before this one in time, to page backwards through one action by its index. */
  readonly olderThan?: Pick<AuditRecord, 'recordedAt' | 'sequence'> | undefined;
  /** At most 1000; 100 if absent. */
  readonly limit?: number | undefined;
}

/** One row as shown to an operator. */
export interface AuditRecord {
  readonly sequence: number;
  readonly recordedAt: Date;
  readonly action: string;
  readonly actor: string | undefined;
  readonly outcome: string;
  readonly objects: Readonly<Record<string, string | number>>;
  readonly requestId: string | undefined;
  readonly remoteAddress: string | undefined;
  readonly channel: AuditChannel;
  /** Of the system, for a command. */
  readonly login: string | undefined;
  /** True if the operator's name is only what a command was told. */
  readonly isClaimed: boolean;
  /** Of the console. */
  readonly session: string | undefined;
}

/** One row by its number. */
export async function findEvent(db: Kysely<AuditTables>, sequence: number): Promise<AuditRecord | undefined> {
  const row = await db
    .selectFrom('audit_event')
    .selectAll()
    .where('sequence', '=', sequence)
    .executeTakeFirst();
  return row && toRecord(row);
}

export async function findEvents(
  db: Kysely<AuditTables>,
  filter: AuditFilter,
): Promise<readonly AuditRecord[]> {
  let query = db.selectFrom('audit_event').selectAll();
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.isChange === true) query = query.where('action', 'in', changeActions);
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor);
  // The condition of the partial index.
  if (filter.actor?.startsWith('operator:') === true)
    query = query.where(sql<boolean>`substr(actor, 1, 9) = 'operator:'`);
  if (filter.requestId !== undefined) query = query.where('request_id', '=', filter.requestId);
  // The condition of the partial index.
  if (filter.requestId !== undefined && filter.action === 'message.accept')
    query = query.where(sql<boolean>`action = 'message.accept'`);
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
  if (filter.since !== undefined) query = query.where('recorded_at', '>=', filter.since.getTime());
  if (filter.before !== undefined) query = query.where('sequence', '<', filter.before);
  if (filter.until !== undefined) query = query.where('recorded_at', '<', filter.until.getTime());
  if (filter.olderThan !== undefined) {
    const { recordedAt, sequence } = filter.olderThan;
    const at = recordedAt.getTime();
    query = query
      .where('recorded_at', '<=', at)
      .where((eb) => eb.or([eb('recorded_at', '<', at), eb('sequence', '<', sequence)]));
  }
  // An action has an index by time, and so have all rows: a window of time is read by that.
  const isByTime =
    (filter.action !== undefined && filter.requestId === undefined) ||
    (filter.since !== undefined && filter.until !== undefined);
  const rows = await query
    .$if(isByTime, (one) => one.orderBy('recorded_at', 'desc'))
    .orderBy('sequence', 'desc')
    .limit(Math.min(filter.limit ?? 100, 1000))
    .execute();
  return rows.map(toRecord);
}

export function toRecord(row: AuditRow): AuditRecord {
  const origin = row.origin === null ? undefined : (readJsonObject(row.origin) as AuditOrigin | undefined);
  // The chain tells which row was changed; it must not hide all others.
  const known = readJsonObject(row.objects) as AuditRecord['objects'] | undefined;
  const objects = known ?? { unreadable: row.objects };
  const actor = row.actor ?? undefined;
  return {
    sequence: row.sequence,
    recordedAt: new Date(row.recorded_at),
    action: row.action,
    actor,
    outcome: row.outcome,
    objects,
    requestId: row.request_id ?? undefined,
    remoteAddress: row.remote_address ?? undefined,
    channel: channelOf({ origin, action: row.action, actor, objects }),
    login: origin?.login,
    isClaimed: origin?.isClaimed === true,
    session: origin?.session,
  };
}

/** New rows of the audit trail. */
export interface NewActions {
  readonly lastSequence: number;
  /** Each once. Empty if nothing was named to begin after. */
  readonly actions: readonly string[];
}

/** Rows looked at; with more, the actions are those of the newest. */
const maxNew = 2_000;

/** The actions of the rows after one, for who follows the trail. */
export async function listActionsAfter(
  db: Kysely<AuditTables>,
  sequence: number | undefined,
): Promise<NewActions> {
  const rows = await db
    .selectFrom('audit_event')
    .select(['sequence', 'action'])
    .$if(sequence !== undefined, (query) => query.where('sequence', '>', sequence ?? 0))
    .orderBy('sequence', 'desc')
    .limit(sequence === undefined ? 1 : maxNew)
    .execute();
  return {
    lastSequence: rows[0]?.sequence ?? sequence ?? 0,
    actions: sequence === undefined ? [] : [...new Set(rows.map(({ action }) => action))],
  };
}

/** The oldest row that is still kept: about as old as the installation, or as the time that rows are kept. */
export async function findFirstEvent(storage: Storage): Promise<AuditRecord | undefined> {
  const row = await storage
    .tables<AuditTables>()
    .selectFrom('audit_event')
    .selectAll()
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst();
  return row && toRecord(row);
}

/** The newest row that matches. */
export async function findLastEvent(
  storage: Storage,
  filter: Omit<AuditFilter, 'limit'>,
): Promise<AuditRecord | undefined> {
  const [last] = await findEvents(storage.tables<AuditTables>(), { ...filter, limit: 1 });
  return last;
}
