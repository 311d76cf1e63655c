import { existsSync } from 'node:fs';
import { describeHold, listHolds } from '../../service/delivery/index.ts';
import { isUrl, oldDirectoryDays, readSources, type SourceStatus } from '../../service/directory/index.ts';
import { listDeadLetters } from '../../service/messaging/index.ts';
import { findFailingHooks } from '../../service/webhook/index.ts';
import { readBackupState } from '../server/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';
import { quoteForShell } from '../../core/index.ts';

const dayMs = 86_400_000;

/** The directory's age, webhooks that fail, mail in the dead-letter list, and the last backup. */
export async function examineServices(options: DoctorOptions): Promise<readonly Finding[]> {
  return (
    await Promise.all([
      examineDirectory(options),
      examineHolds(options),
      examineWebhooks(options),
      examineDeadLetters(options),
      examineBackup(options),
    ])
  ).flat();
}

async function examineDirectory({ storage, clock }: DoctorOptions): Promise<readonly Finding[]> {
  const sources = await readSources(storage);
  const loaded = sources.filter(({ active }) => active !== undefined);
  const waiting = sources.filter(({ active, schedule }) => active === undefined && schedule !== undefined);
  const unloaded = waiting.flatMap((source) => examineUnloaded(source));
  if (loaded.length === 0 && unloaded.length > 0) return unloaded;
  if (loaded.length === 0)
    return [
      findingsOf('directory').note(
        'Never loaded: searches find hosted addresses only.',
        'Correct if no other directory is served; else: openhisp directory import FILE',
      ),
    ];
  const isOnly = loaded.length + unloaded.length === 1;
  return [...loaded.map((source) => examineSource(source, clock.now().getTime(), isOnly)), ...unloaded];
}

async function examineHolds({ storage, clock }: DoctorOptions): Promise<readonly Finding[]> {
  return (await listHolds(storage, clock)).map((hold) => {
    const finding = findingsOf('hold', hold.domain);
    const { text, isUrgent } = describeHold(hold, clock.now());
    const advice = `openhisp queue release ${quoteForShell(hold.domain)}, or hold it again with --until.`;
    return isUrgent ? finding.warning(text, advice) : finding.note(text, advice);
  });
}

/** A source that has a schedule, and none of whose loads succeeded. */
function examineUnloaded({ name, schedule }: SourceStatus): Finding[] {
  if (schedule === undefined) return [];
  const finding = findingsOf('directory', name);
  const { path, failure } = schedule;
  if (failure !== undefined)
    return [
      finding.error(
        `Nothing is loaded: the scheduled load failed: ${failure}`,
        `Correct ${path}; it is loaded when it has changed.`,
      ),
    ];
  if (!isUrl(path) && !existsSync(path))
    return [
      finding.warning(
        `Nothing is loaded: ${path}, which is scheduled, is not on this machine.`,
        `Put the file there, or correct the schedule: openhisp directory source schedule ${quoteForShell(name)} --every 24h --path FILE`,
      ),
    ];
  return [
    finding.note(
      `${path} is scheduled and not loaded yet.`,
      'The server loads a file that has not changed for a minute; openhisp directory sources shows it.',
    ),
  ];
}

function examineSource({ name, active, schedule }: SourceStatus, nowMs: number, isOnly: boolean): Finding {
  const finding = isOnly ? findingsOf('directory') : findingsOf('directory', name);
  const days = (nowMs - Date.parse(active?.finishedAt ?? '')) / dayMs;
  const text = `${active?.recordCount ?? 0} records, loaded ${days.toFixed(0)} days ago.`;
  if (schedule?.failure !== undefined)
    return finding.warning(
      `${text} The last scheduled load failed: ${schedule.failure}`,
      `Correct ${schedule.path}; it is loaded when it has changed. If it is right: openhisp directory import ${quoteForShell(schedule.path)} --source ${quoteForShell(name)} --accept-loss`,
    );
  if (schedule !== undefined && !isUrl(schedule.path) && !existsSync(schedule.path))
    return finding.note(
      `${text} ${schedule.path}, which is scheduled, is not on this machine.`,
      `Correct if another node loads it; else put the file there: nothing new is loaded.`,
    );
  const into = name === 'default' ? '' : ` --source ${name}`;
  return days > oldDirectoryDays
    ? finding.warning(text, `Load the current edition: openhisp directory import FILE${into}`)
    : finding.ok(text);
}

async function examineWebhooks({ storage, clock }: DoctorOptions): Promise<readonly Finding[]> {
  const failing = await findFailingHooks(storage);
  if (failing.length === 0) return [findingsOf('webhook').ok('None is failing.')];
  return failing.map(({ id, clientId, failingSince, disabledReason, deadLetterCount }) => {
    const finding = findingsOf('webhook', id);
    const owner = `of client ${clientId}`;
    if (disabledReason !== '')
      return finding.error(
        `The webhook ${owner} was disabled (${disabledReason}); ${deadLetterCount} notifications are undelivered.`,
        'Ask the client to correct its receiver, to enable the webhook and to replay.',
      );
    if (failingSince !== undefined)
      return finding.warning(
        `The webhook ${owner} has failed since ${failingSince.toISOString()} (${Math.floor((clock.now().getTime() - failingSince.getTime()) / 3_600_000)} h).`,
        'Contact the client: after three days the webhook is disabled.',
      );
    return finding.warning(
      `The webhook ${owner} works again; ${deadLetterCount} notifications are undelivered.`,
      'Ask the client to replay them.',
    );
  });
}

async function examineDeadLetters({ storage }: DoctorOptions): Promise<Finding> {
  const finding = findingsOf('mail');
  const entries = await listDeadLetters(storage);
  return entries.length === 0
    ? finding.ok('No inbound mail waits for the operator.')
    : finding.error(
        `${entries.length} inbound messages failed on every attempt and wait for the operator.`,
        'openhisp mail list shows why; then openhisp mail retry.',
      );
}

async function examineBackup(options: DoctorOptions): Promise<readonly Finding[]> {
  const state = await readBackupState(options);
  if (state === undefined) return [];
  const finding = findingsOf('backup');
  const { text, problem, isNever } = state;
  const advice =
    'openhisp backup FILE writes one, and deploy/openhisp-backup.timer one per night (journalctl -u openhisp-backup). ' +
    'If the database is backed up by other means, set storage.backupWarningDays to 0.';
  if (problem !== undefined) return [finding.warning(text, advice)];
  return [isNever ? finding.note(text, advice) : finding.ok(text)];
}
