import { hash } from 'node:crypto';

/** The columns of one row, as stored. */
export interface AuditRow {
  sequence: number;
  recorded_at: number;
  action: string;
  actor: string | null;
  outcome: string;
  request_id: string | null;
  remote_address: string | null;
  /** JSON object of identifiers, names sorted. */
  objects: string;
  previous_hash: Uint8Array;
  hash: Uint8Array;
}

/** The first row that is kept, once older ones were deleted. */
export interface AuditStartRow {
  /** 1: there is one row at most. */
  id: number;
  sequence: number;
  /** The hash of the last row that was deleted. */
  previous_hash: Uint8Array;
}

export interface AuditTables {
  audit_event: AuditRow;
  audit_start: AuditStartRow;
}

/** What the first row names as the hash before it. */
export const chainStart: Uint8Array = Buffer.alloc(32);

/** SHA-256 over the previous hash and the row's canonical JSON: fixed order of members, no white space. */
export function hashRow(row: Omit<AuditRow, 'hash'>): Buffer {
  const canonical = JSON.stringify([
    row.sequence,
    row.recorded_at,
    row.action,
    row.actor,
    row.outcome,
    row.request_id,
    row.remote_address,
    row.objects,
  ]);
  return hash('sha256', Buffer.concat([row.previous_hash, Buffer.from(canonical)]), 'buffer');
}

/** Names sorted by code point, so that equal objects give equal text. */
export function canonicalObjects(objects: Readonly<Record<string, string | number>>): string {
  const names = Object.keys(objects).sort();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, shorten(objects[name] ?? '')])));
}

/** Identifiers are short; anything longer is somebody trying to fill the log. */
const longestValue = 1000;

function shorten(value: string | number): string | number {
  return typeof value === 'string' && value.length > longestValue
    ? `${value.slice(0, longestValue)}…`
    : value;
}
