import { readJsonList } from '../../../core/index.ts';
import type { AttemptRow } from '../../delivery/index.ts';

/** One attempt at one destination. */
export interface Attempt {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly destination: string;
  /** The mail server and its IP address; empty if none was reached. */
  readonly host: string;
  readonly address: string;
  readonly tls: string;
  readonly reply: string;
  readonly code: string;
  readonly outcome: AttemptRow['outcome'];
  /** SHA-256 of the sealed message that was sent, hex; empty if none was. */
  readonly sentHash: string;
  /** The agent's result for each certificate. */
  readonly certificates: readonly unknown[];
}

export function toAttempt(row: AttemptRow): Attempt {
  return {
    startedAt: new Date(row.started_at),
    durationMs: row.duration_ms,
    destination: row.domain,
    host: row.host,
    address: row.address,
    tls: row.tls,
    reply: row.reply,
    code: row.code,
    outcome: row.outcome,
    sentHash: row.sent_hash,
    certificates: readJsonList(row.certificates),
  };
}
