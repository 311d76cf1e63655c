import { toCsvLine } from '../../core/index.ts';
import { actionText, groupOf } from './actions.ts';
import type { AuditRecord } from './find-events.ts';

export const auditCsvHeader = toCsvLine([
  'sequence',
  'time (UTC)',
  'what',
  'action',
  'group',
  'actor',
  'name is claimed',
  'channel',
  'login',
  'session',
  'address',
  'outcome',
  'request id',
  'objects',
]);

/** One row for a spreadsheet, without the end of the line. */
export function toAuditCsv(row: AuditRecord): string {
  return toCsvLine([
    row.sequence,
    row.recordedAt.toISOString(),
    actionText(row.action),
    row.action,
    groupOf(row.action),
    row.actor ?? '',
    row.isClaimed ? 'yes' : 'no',
    row.channel,
    row.login ?? '',
    row.session ?? '',
    row.remoteAddress ?? '',
    row.outcome,
    row.requestId ?? '',
    Object.entries(row.objects)
      .map(([name, value]) => `${name}=${value}`)
      .join('; '),
  ]);
}
