import { readStatus } from '../../service/directory/index.ts';
import { listDeadLetters } from '../../service/messaging/index.ts';
import { findFailingHooks } from '../../service/webhook/index.ts';
import type { DoctorOptions } from './examine.ts';
import { findingsOf, type Finding } from './findings.ts';

const dayMs = 86_400_000;
/** Aggregated directories and NPPES appear monthly. */
const oldDirectoryDays = 45;

/** The directory's age, webhooks that fail, and mail in the dead-letter list. */
export async function examineServices(options: DoctorOptions): Promise<readonly Finding[]> {
  return (
    await Promise.all([examineDirectory(options), examineWebhooks(options), examineDeadLetters(options)])
  ).flat();
}

async function examineDirectory({ storage, clock }: DoctorOptions): Promise<Finding> {
  const report = findingsOf('directory');
  const { active } = await readStatus(storage);
  if (active?.finishedAt === undefined)
    return report.warning(
      'Never loaded: searches find hosted addresses only.',
      'openhisp directory import FILE',
    );
  const days = (clock.now().getTime() - Date.parse(active.finishedAt)) / dayMs;
  const text = `${active.recordCount} records, loaded ${days.toFixed(0)} days ago.`;
  return days > oldDirectoryDays
    ? report.warning(text, 'Load the current edition: openhisp directory import FILE')
    : report.ok(text);
}

async function examineWebhooks({ storage, clock }: DoctorOptions): Promise<readonly Finding[]> {
  const failing = await findFailingHooks(storage);
  if (failing.length === 0) return [findingsOf('webhook').ok('None fails.')];
  return failing.map(({ id, clientId, failingSince, disabledReason, deadCount }) => {
    const report = findingsOf('webhook', id);
    const owner = `of client ${clientId}`;
    if (disabledReason !== '')
      return report.error(
        `The webhook ${owner} was switched off (${disabledReason}); ${deadCount} notifications are undelivered.`,
        'Tell the client to correct its receiver, to enable the webhook and to replay.',
      );
    if (failingSince !== undefined)
      return report.warning(
        `The webhook ${owner} fails since ${failingSince.toISOString()} (${Math.floor((clock.now().getTime() - failingSince.getTime()) / 3_600_000)} h).`,
        'Tell the client: after three days it is switched off.',
      );
    return report.warning(
      `The webhook ${owner} works again; ${deadCount} notifications are undelivered.`,
      'Tell the client to replay them.',
    );
  });
}

async function examineDeadLetters({ storage }: DoctorOptions): Promise<Finding> {
  const report = findingsOf('mail');
  const entries = await listDeadLetters(storage);
  return entries.length === 0
    ? report.ok('No inbound mail waits for the operator.')
    : report.error(
        `${entries.length} inbound messages failed on every attempt and wait for the operator.`,
        'openhisp mail list shows why; then openhisp mail retry.',
      );
}
