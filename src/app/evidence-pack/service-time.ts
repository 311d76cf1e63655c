import { readEvents, type AuditPeriod } from '../../service/audit/index.ts';
import type { Storage } from '../../platform/index.ts';

/** The time in which at least one node served. */
export interface ServiceMonth {
  /** In UTC, as `2026-11`. */
  readonly month: string;
  /** Seconds of the month that are in the period, from the first start on. */
  readonly seconds: number;
  readonly served: number;
}

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * By month, from the rows `service.start` and `service.stop`. A node that ended without a stop counts up to
 * the last heartbeat that its next start names, or up to that start if it names none.
 */
export async function measureServiceTime(
  storage: Storage,
  period: AuditPeriod,
): Promise<readonly ServiceMonth[]> {
  const untilMs = period.until.getTime();
  const open = new Map<string, number>();
  const spans: Span[] = [];
  const end = (node: string, endMs: number): void => {
    const startMs = open.get(node);
    open.delete(node);
    if (startMs !== undefined && endMs > startMs) spans.push({ startMs, endMs });
  };
  const before = { since: new Date(0), until: period.until };
  for await (const { action, recordedAt, objects } of readEvents(
    storage,
    ['service.start', 'service.stop'],
    before,
  )) {
    const node = String(objects['node']);
    const atMs = recordedAt.getTime();
    if (action === 'service.stop') {
      end(node, atMs);
      continue;
    }
    const lostMs = Date.parse(String(objects['lostAt']));
    end(node, Number.isNaN(lostMs) ? atMs : Math.min(lostMs, atMs));
    open.set(node, atMs);
  }
  for (const node of open.keys()) end(node, untilMs);
  return byMonth(joined(spans), period);
}

function joined(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.startMs - b.startMs)) {
    const last = result.at(-1);
    if (last === undefined || span.startMs > last.endMs) result.push(span);
    else result[result.length - 1] = { ...last, endMs: Math.max(last.endMs, span.endMs) };
  }
  return result;
}

function byMonth(spans: readonly Span[], { since, until }: AuditPeriod): readonly ServiceMonth[] {
  const first = spans[0];
  if (first === undefined) return [];
  const beginMs = Math.max(since.getTime(), first.startMs);
  const months: ServiceMonth[] = [];
  for (let startMs = beginMs; startMs < until.getTime();) {
    const start = new Date(startMs);
    const nextMs = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
    const endMs = Math.min(nextMs, until.getTime());
    const servedMs = spans.reduce(
      (total, span) => total + Math.max(0, Math.min(span.endMs, endMs) - Math.max(span.startMs, startMs)),
      0,
    );
    months.push({
      month: start.toISOString().slice(0, 7),
      seconds: Math.round((endMs - startMs) / 1000),
      served: Math.round(servedMs / 1000),
    });
    startMs = endMs;
  }
  return months;
}
