import { readInstant } from '../../../core/index.ts';
import { actionText, groupOf, type AuditRecord } from '../../../service/audit/index.ts';
import type { LegalHold as FoundHold } from '../../../service/legal-hold/index.ts';
import type { CertificatePath as FoundPath } from '../../../service/messaging/index.ts';
import { invalidField } from '../errors.ts';
import type { AuditEntry, CertificatePath, LegalHold, Level, MessageState } from '../contract/index.ts';

export const isoTime = (at: Date): string => at.toISOString();
/** A time of a query or a body. Throws CONSOLE_REQUEST_INVALID. */
export function readTime(field: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const at = readInstant(text);
  if (at === undefined)
    throw invalidField(field, `${field}: not a time with its zone such as 2026-12-20T08:00:00Z.`);
  return at;
}

export const isoOrNull = (at: Date | undefined): string | null => at?.toISOString() ?? null;

const levels: Readonly<Record<MessageState, Level>> = {
  queued: 'waiting',
  sent: 'waiting',
  processed: 'ok',
  dispatched: 'ok',
  failed: 'failed',
  expired: 'failed',
  received: 'waiting',
  acknowledged: 'ok',
};

export function levelOfState(state: MessageState): Level {
  return levels[state];
}

export function toAuditEntry(row: AuditRecord): AuditEntry {
  return {
    sequence: row.sequence,
    at: isoTime(row.recordedAt),
    action: row.action,
    actor: row.actor ?? '',
    outcome: row.outcome === 'ok' || row.outcome === 'refused' ? row.outcome : 'failed',
    objects: { ...row.objects },
    requestId: row.requestId ?? '',
    remoteAddress: row.remoteAddress ?? '',
    text: actionText(row.action),
    group: groupOf(row.action),
    channel: row.channel,
    login: row.login ?? '',
    isClaimed: row.isClaimed,
    session: row.session ?? '',
  };
}

export function toCertificatePath({ nodes, ...path }: FoundPath): CertificatePath {
  return {
    ...path,
    nodes: nodes.map((node) => ({
      ...node,
      notBefore: isoOrNull(node.notBefore),
      notAfter: isoOrNull(node.notAfter),
    })),
  };
}

export { countOf } from '../../../core/index.ts';
/** Milliseconds in the largest suitable unit: `40 s`, `12 min`, `5 h`, `3 days`. */
export function spanOf(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

export function toLegalHold({ since, released, ...hold }: FoundHold): LegalHold {
  return { ...hold, since: isoTime(since), releasedAt: isoOrNull(released?.at) };
}
