import { createHash } from 'node:crypto';

/** Purposes of advisory locks; each kind has its own names. */
export type AdvisoryKind = 'collector' | 'migrate' | 'node' | 'task';

/**
 * The 64-bit key of an advisory lock of PostgreSQL. Locks belong to the database, so each service needs its
 * own.
 */
export function advisoryKey(kind: AdvisoryKind, name: string): string {
  return createHash('sha256').update(`openhisp ${kind} ${name}`).digest().readBigInt64BE().toString();
}
