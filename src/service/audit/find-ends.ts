import type { Storage } from '../../platform/index.ts';
import type { AuditTables } from './chain.ts';
import { findEvents, toRecord, type AuditFilter, type AuditRecord } from './find-events.ts';

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
