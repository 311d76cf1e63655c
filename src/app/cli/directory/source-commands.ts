import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../../../core/index.ts';
import {
  isUrl,
  orderSources,
  readSources,
  removeSource,
  scheduleSource,
  setExportRight,
  showRecords,
  type RecordName,
} from '../../../service/directory/index.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../describe-error.ts';
import { withInstallation, type AuditedInstallation } from '../with-installation.ts';
import { formatRecord, formatSources } from './format-sources.ts';
import { printLines } from '../print-list.ts';

interface ScheduleFlags {
  readonly every?: number;
  readonly path?: string;
  readonly off?: true;
}

/** Adds `directory show`, `sources` and `source …` (Decision 0025). */
export function addSourceCommands(directory: Command, context: CliContext): void {
  directory
    .command('show')
    .description('show the served record of a Direct address or an id, and the record in each source')
    .argument('<record>', 'a Direct address, or the id of a record')
    .option('--json', 'print JSON')
    .action((name: string, { json }: { json?: true }) =>
      withInstallation(context, async ({ storage }) => {
        const records = await showRecords(storage, nameOf(name));
        if (records.length === 0) context.setExitCode(1);
        const text = records.length === 0 ? ['No record found.'] : records.flatMap(formatRecord);
        if (json === true) context.print(JSON.stringify(records, null, 2));
        else printLines(context, text);
      }),
    );
  directory
    .command('sources')
    .description('show the sources in order of precedence')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }) =>
      withInstallation(context, ({ storage }) => printSources(context, storage, json === true)),
    );
  const source = directory.command('source').description('order, open, schedule and remove sources');
  source
    .command('order')
    .description('set the order of precedence: the named sources first, then the others')
    .argument('<names...>')
    .action((names: string[]) =>
      withInstallation(context, async (at) => {
        await orderSources(contextOf(at), names);
        await printSources(context, at.storage, false);
      }),
    );
  source
    .command('remove')
    .description('remove a source with all its generations; records that it had overridden are served again')
    .argument('<name>')
    .action((name: string) =>
      withInstallation(context, async (at) => {
        await removeSource(contextOf(at), name);
        context.print(`The source ${name} is removed.`);
      }),
    );
  source
    .command('export')
    .description('allow (open) or forbid (closed) the export of a source')
    .argument('<name>')
    .argument('<right>', 'open or closed', parseRight)
    .action((name: string, right: 'open' | 'closed') =>
      withInstallation(context, async (at) => {
        await setExportRight(contextOf(at), name, right);
        context.print(`The source ${name} is ${right}.`);
      }),
    );
  source
    .command('schedule')
    .description('load a file or a release of the national directory into a source whenever it has changed')
    .argument('<name>')
    .option('--every <duration>', 'interval of the checks, for example 30m, 24h or 7d', parseDuration)
    .option(
      '--path <file>',
      'the file, or the folder of a release of the national directory, on every node that may load it; or the URL of its manifest',
    )
    .option('--off', 'end the schedule')
    .action((name: string, flags: ScheduleFlags) =>
      withInstallation(context, async ({ storage, audit }) => {
        const at = { storage, audit, clock: systemClock };
        const schedule = scheduleOf(flags);
        await scheduleSource(at, name, schedule);
        await printSources(context, storage, false);
        if (schedule !== undefined && !isUrl(schedule.path) && !existsSync(schedule.path))
          context.note(`${schedule.path} is not on this machine: a node that has it will load it.`);
      }),
    );
}

function contextOf({ storage, audit, config }: AuditedInstallation): Parameters<typeof removeSource>[0] {
  return { storage, audit, clock: systemClock, snapshotDir: config.directory.snapshotDir };
}

async function printSources(
  context: CliContext,
  storage: AuditedInstallation['storage'],
  isJson: boolean,
): Promise<void> {
  const sources = await readSources(storage);
  if (isJson) context.print(JSON.stringify(sources, null, 2));
  else printLines(context, formatSources(sources));
}

function nameOf(text: string): RecordName {
  return /^[0-9]{1,10}$/.test(text) ? { id: Number(text) } : { directAddress: text };
}

function scheduleOf({ every, path: file, off }: ScheduleFlags): Parameters<typeof scheduleSource>[2] {
  if (off === true) return undefined;
  if (every === undefined || file === undefined)
    throw new UsageError('--every and --path are both needed, or --off');
  return { everyMs: every, path: isUrl(file) ? file : path.resolve(file) };
}

function parseRight(text: string): 'open' | 'closed' {
  if (text === 'open' || text === 'closed') return text;
  throw new UsageError('the right is open or closed');
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function parseDuration(text: string): number {
  const [, count = '', unit = ''] = /^([1-9][0-9]{0,3})([mhd])$/.exec(text) ?? [];
  const milliseconds = Number(count) * (unitMs[unit] ?? 0);
  if (milliseconds > 0) return milliseconds;
  throw new UsageError('--every is a number of minutes, hours or days, for example 30m, 24h or 7d');
}
