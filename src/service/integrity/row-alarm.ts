import { LRUCache } from 'lru-cache';
import type { Audit } from '../audit/index.ts';

/** Reports a row that something else than this service has written: an error in the log and an audit row. */
export type RowAlarm = (row: { readonly table: string; readonly row: string }) => void;

/** A changed row may be asked for all the time; it is told once in this time. */
const reportedForMs = 3_600_000;
const maxReported = 1000;

export function createRowAlarm(audit: Pick<Audit, 'alarm'>): RowAlarm {
  const reported = new LRUCache<string, true>({ max: maxReported, ttl: reportedForMs });
  return (objects) => {
    const name = `${objects.table} ${objects.row}`;
    if (reported.has(name)) return;
    reported.set(name, true);
    audit.alarm({ action: 'integrity.refuse', actor: 'system', outcome: 'failed', objects: { ...objects } });
  };
}
