import type { Audit, AuditRecord } from '../../audit/index.ts';

/** The time of an event of a message; its audit row has about the same time. */
export interface AuditTrace {
  /** Of a sent message; rows with another one are of another message under its Message-ID. */
  readonly deliveryId?: string;
  /** The ids in audit rows: the Message-ID on the wire, and the id of a received copy. */
  readonly names: readonly string[];
  readonly times: readonly Date[];
  readonly acceptedAt: Date;
}

const nearMs = 2_000;
const maxWindows = 20;
/** The audit actions of operators on a message. */
const operatorActions = ['message.show', 'message.retry', 'message.fail', 'message.evidence'] as const;

/**
 * The audit rows of one message, oldest first: found by the times of its history, since rows are indexed by
 * time.
 */
export async function findMessageAudit(
  audit: Pick<Audit, 'find'>,
  { deliveryId, names, times, acceptedAt }: AuditTrace,
): Promise<readonly AuditRecord[]> {
  const windows = joinWindows(times).slice(0, maxWindows);
  const lists = await Promise.all([
    ...windows.map((window) => audit.find({ ...window, limit: 1_000 })),
    ...operatorActions.map((action) => audit.find({ action, since: acceptedAt, limit: 1_000 })),
  ]);
  const wanted = new Set(names);
  const rows = lists
    .flat()
    .filter(({ objects }) => Object.values(objects).some((value) => wanted.has(String(value))))
    .filter((row) => deliveryId === undefined || !isOfOther(row, deliveryId));
  return [...new Map(rows.map((row) => [row.sequence, row])).values()].toSorted(
    (a, b) => a.sequence - b.sequence,
  );
}

// An MDN that reports the message has a delivery, too.
const isOfOther = ({ action, objects }: AuditRecord, deliveryId: string): boolean =>
  action.startsWith('message.') && (objects['deliveryId'] ?? deliveryId) !== deliveryId;

interface Window {
  readonly since: Date;
  readonly until: Date;
}

function joinWindows(times: readonly Date[]): readonly Window[] {
  const windows: Window[] = [];
  for (const at of times.map(Number).toSorted((a, b) => a - b)) {
    const last = windows.at(-1);
    const until = new Date(at + nearMs);
    if (last !== undefined && at - nearMs <= last.until.getTime())
      windows[windows.length - 1] = { since: last.since, until };
    else windows.push({ since: new Date(at - nearMs), until });
  }
  return windows;
}
