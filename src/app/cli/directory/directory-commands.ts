import type { Command } from 'commander';
import { createLog } from '../../../platform/index.ts';
import { systemClock } from '../../../core/index.ts';
import { loadBuiltInGazetteer } from '../../../lib/geo/index.ts';
import {
  formatReport,
  importDirectory,
  openInput,
  openStream,
  readReport,
  readStatus,
  readTaxonomy,
  rollBack,
  settleDeadLoads,
  type InputFile,
} from '../../../service/directory/index.ts';
import type { CliContext } from '../context.ts';
import { withInstallation, type AuditedInstallation } from '../with-installation.ts';
import { formatStatus } from './format-status.ts';
import { startProgressLine } from './progress-line.ts';

interface ImportFlags {
  readonly incremental?: true;
  readonly maxRefused?: number;
  readonly taxonomy?: string;
  readonly json?: true;
}

/** Adds `directory import`, `status`, `report` and `rollback`. */
export function addDirectoryCommands(program: Command, context: CliContext): void {
  const directory = program
    .command('directory')
    .description('Load, inspect and roll back the provider directory');
  directory
    .command('import')
    .description('Load a directory from CSV, .gz or .zip files, or from standard input (-)')
    .argument('<files...>', 'the file; for NPPES the main file and the endpoint file, or their .zip')
    .option('--incremental', 'add, change and remove records instead of replacing the directory')
    .option('--max-refused <percent>', 'give the load up if more of its rows are refused', parsePercent)
    .option('--taxonomy <file>', 'CSV with the names of provider taxonomy codes, for NPPES')
    .option('--json', 'print the quality report as JSON')
    .action((files: string[], flags: ImportFlags) =>
      withInstallation(context, (at) => runImport(context, at, files, flags)),
    );
  directory
    .command('status')
    .description('Show what is loaded')
    .option('--json', 'print JSON')
    .action((flags: { json?: true }) =>
      withInstallation(context, async ({ storage, config }) => {
        const { snapshotDir } = config.directory;
        await settleDeadLoads({ storage, clock: systemClock, snapshotDir });
        const status = await readStatus(storage);
        context.print(
          flags.json === true ? JSON.stringify(status, null, 2) : formatStatus(status).join('\n'),
        );
      }),
    );
  directory
    .command('report')
    .description('Show the quality report of a load')
    .argument('[load]', 'the number of the load; the newest without one', parseLoadId)
    .option('--json', 'print JSON')
    .action((loadId: number | undefined, flags: { json?: true }) =>
      withInstallation(context, async ({ storage }) => {
        const report = await readReport(storage, loadId);
        context.print(
          flags.json === true ? JSON.stringify(report, null, 2) : formatReport(report).join('\n'),
        );
      }),
    );
  directory
    .command('rollback')
    .description('Go back to the directory that was served before the last load')
    .action(() =>
      withInstallation(context, async ({ storage, audit }) => {
        const load = await rollBack({ storage, audit });
        context.print(`Load ${load.id} (${load.source}, ${load.record_count} records) is active again.`);
      }),
    );
}

async function runImport(
  context: CliContext,
  { config, storage, audit }: AuditedInstallation,
  names: string[],
  flags: ImportFlags,
): Promise<void> {
  const files = await openFiles(names);
  const taxonomyFile = flags.taxonomy === undefined ? undefined : (await openInput(flags.taxonomy))[0];
  const progress = startProgressLine(context);
  const report = await importDirectory(
    {
      storage,
      clock: systemClock,
      audit,
      log: createLog({ level: 'warn', isReadable: true, write: (line) => context.note(line.trimEnd()) }),
      gazetteer: loadBuiltInGazetteer(),
      snapshotDir: config.directory.snapshotDir,
    },
    {
      files,
      kind: flags.incremental === true ? 'incremental' : 'full',
      taxonomy: taxonomyFile === undefined ? undefined : await readTaxonomy(taxonomyFile),
      maxRefusedShare: flags.maxRefused,
      onProgress: progress.show,
    },
  ).finally(() => progress.end());
  context.print(flags.json === true ? JSON.stringify(report, null, 2) : formatReport(report).join('\n'));
  context.note('The new directory is active; a running server serves it within seconds.');
}

async function openFiles(names: readonly string[]): Promise<InputFile[]> {
  const files: InputFile[] = [];
  for (const name of names) files.push(...(name === '-' ? openStream(process.stdin) : await openInput(name)));
  return files;
}

function parsePercent(text: string): number {
  const percent = Number(text.replace(/%$/, ''));
  if (!(percent >= 0 && percent <= 100)) throw new Error('--max-refused is a percentage, 0 to 100');
  return percent / 100;
}

function parseLoadId(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new Error('a load is named by its number');
  return Number(text);
}
