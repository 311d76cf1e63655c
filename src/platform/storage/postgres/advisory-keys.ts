import { createHash } from 'node:crypto';

/** What advisory locks are taken for; each kind has its own names. */
export type AdvisoryKind = 'collector' | 'migrate' | 'node' | 'task';

/** The 64-bit key of an advisory lock, as PostgreSQL takes it. Locks belong to the database, so each service needs its own. */
export function advisoryKey(kind: AdvisoryKind, name: string): string {
  return createHash('sha256').update(`openhisp ${kind} ${name}`).digest().readBigInt64BE().toString();
}
