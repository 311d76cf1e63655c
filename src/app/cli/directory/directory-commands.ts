import type { Command } from 'commander';
import { createLog } from '../../../platform/index.ts';
import { readDecimal, systemClock } from '../../../core/index.ts';
import { loadBuiltInGazetteer } from '../../../lib/geo/index.ts';
import {
  formatReport,
  importDirectory,
  isRefusedLoss,
  nationalSource,
  openInput,
  openStream,
  orRefuse,
  readReport,
  readStatus,
  readTaxonomy,
  rollBack,
  failAbandonedLoads,
  shownSource,
  type ImportRequest,
  type InputFile,
  type LoadReport,
  type Release,
  type DirectoryStatus,
  type LoadSummary,
} from '../../../service/directory/index.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../describe-error.ts';
import { withInstallation, type AuditedInstallation } from '../with-installation.ts';
import { addContributeCommand } from './contribute-command.ts';
import { addFindCommand } from './find-command.ts';
import { addSourceCommands } from './source-commands.ts';
import { startProgressLine } from './progress-line.ts';
import { addVerificationCommands } from './verification-commands.ts';
import { printLines } from '../print-list.ts';
import { formatSources } from './format-sources.ts';

interface ImportFlags {
  readonly format?: 'npd';
  readonly incremental?: true;
  readonly acceptLoss?: true;
  readonly maxRefused?: number;
  readonly taxonomy?: string;
  readonly json?: true;
  readonly source?: string;
  readonly open?: true;
  readonly closed?: true;
}

/** Adds `directory import`, `status`, `report`, `rollback`, and the commands for sources. */
export function addDirectoryCommands(directory: Command, context: CliContext): void {
  directory
    .command('import')
    .description(
      'load a directory from CSV, .gz or .zip files, from standard input (-), or from a release of the national directory',
    )
    .argument(
      '<files...>',
      'the file; for NPPES the main file and the endpoint file, or their .zip; for npd a folder or the URL of the manifest',
    )
    .option(
      '--format <format>',
      'npd: a release of the national directory; other formats are recognized by content',
      parseFormat,
    )
    .option('--incremental', 'add, change and remove records instead of replacing the directory')
    .option('--source <name>', 'the source of the files; default: "default", or "npd" for its releases')
    .option('--open', 'the source may be exported')
    .option('--closed', 'the source may be given out only as the data-use rule allows')
    .option(
      '--accept-loss',
      'load it although many records would go or rows are refused, after its report was seen',
    )
    .option(
      '--max-refused <percent>',
      'abort the load if more of its rows are refused; default: 5 of a full load',
      parsePercent,
    )
    .option('--taxonomy <file>', 'CSV with the names of provider taxonomy codes, for NPPES and npd')
    .option('--json', 'print the quality report as JSON')
    .action((files: string[], flags: ImportFlags) =>
      withInstallation(context, (at) => runImport(context, at, files, flags)),
    );
  directory
    .command('status')
    .description('show the loads of the directory')
    .option('--json', 'print JSON')
    .action((flags: { json?: true }) =>
      withInstallation(context, async ({ storage, config }) => {
        const { snapshotDir } = config.directory;
        await failAbandonedLoads({ storage, clock: systemClock, snapshotDir });
        const status = await readStatus(storage);
        if (flags.json === true) context.print(JSON.stringify(status, null, 2));
        else printLines(context, formatStatus(status));
      }),
    );
  directory
    .command('report')
    .description('show the quality report of a load')
    .argument('[load]', 'the number of the load; default: the newest', parseLoadId)
    .option('--json', 'print JSON')
    .action((loadId: number | undefined, flags: { json?: true }) =>
      withInstallation(context, async ({ storage, config }) => {
        const { snapshotDir } = config.directory;
        await failAbandonedLoads({ storage, clock: systemClock, snapshotDir });
        const report = await readReport(storage, loadId);
        if (flags.json === true) context.print(JSON.stringify(report, null, 2));
        else printLines(context, formatReport(report));
      }),
    );
  directory
    .command('rollback')
    .description('return to the directory before the last load')
    .option('--source <name>', 'the source to roll back; required when several are loaded')
    .action(({ source }: { source?: string }) =>
      withInstallation(context, async ({ storage, audit, config }) => {
        const { snapshotDir } = config.directory;
        const load = await rollBack({ storage, audit, clock: systemClock, snapshotDir }, source);
        context.print(`Load ${load.id} (${load.source}, ${load.record_count} records) is active again.`);
      }),
    );
  addFindCommand(directory, context);
  addContributeCommand(directory, context);
  addSourceCommands(directory, context);
  addVerificationCommands(directory, context);
}

async function runImport(
  context: CliContext,
  { config, storage, audit }: AuditedInstallation,
  names: string[],
  flags: ImportFlags,
): Promise<void> {
  if (flags.open === true && flags.closed === true)
    throw new UsageError('--open and --closed exclude each other');
  const kind = flags.incremental === true ? 'incremental' : 'full';
  const taxonomyFile = flags.taxonomy === undefined ? undefined : (await openInput(flags.taxonomy))[0];
  const taxonomy = taxonomyFile === undefined ? undefined : await readTaxonomy(taxonomyFile);
  const progress = startProgressLine(context);
  const startedBy = context.actor();
  const sourceName = flags.source ?? (flags.format === 'npd' ? nationalSource : undefined);
  const open = <Input>(name: string, work: () => Promise<Input>): Promise<Input> =>
    orRefuse({ storage, clock: systemClock, audit }, { name, kind, sourceName, startedBy }, work);
  const load = (input: Pick<ImportRequest, 'files' | 'release'>): Promise<LoadReport> =>
    importDirectory(
      {
        storage,
        clock: systemClock,
        audit,
        log: createLog({ level: 'warn', isReadable: true, write: (line) => context.note(line.trimEnd()) }),
        gazetteer: loadBuiltInGazetteer(),
        snapshotDir: config.directory.snapshotDir,
      },
      {
        ...input,
        kind,
        startedBy,
        sourceName: flags.source,
        exportRight: flags.open === true ? 'open' : flags.closed === true ? 'closed' : undefined,
        taxonomy,
        acceptLoss: flags.acceptLoss,
        maxRefusedShare: flags.maxRefused,
        onProgress: progress.show,
      },
    );
  const loading =
    flags.format === 'npd'
      ? loadRelease(config, requireOneRelease(names, kind), progress.show, open, load)
      : open(names.map(shownName).join(', '), () => openFiles(names)).then((files) => load({ files }));
  const print = (report: LoadReport): void => {
    if (flags.json === true) context.print(JSON.stringify(report, null, 2));
    else printLines(context, formatReport(report));
  };
  const report = await loading
    .catch(async (error: unknown) => {
      if (isRefusedLoss(error)) print(await readReport(storage));
      throw error;
    })
    .finally(() => progress.end());
  print(report);
  context.note('The new directory is active; a running server serves it within seconds.');
}

async function loadRelease(
  config: AuditedInstallation['config'],
  source: string,
  onProgress: NonNullable<ImportRequest['onProgress']>,
  open: (name: string, work: () => Promise<Release>) => Promise<Release>,
  load: (input: Pick<ImportRequest, 'files' | 'release'>) => Promise<LoadReport>,
): Promise<LoadReport> {
  // Imported only when needed: it loads many modules.
  const { createReleaseOpener } = await import('../../server/index.ts');
  const release = await open(shownSource(source), () => createReleaseOpener(config).open(source, onProgress));
  try {
    return await load({ files: [], release });
  } finally {
    await release.close();
  }
}

function shownName(name: string): string {
  return name === '-' ? 'standard input' : shownSource(name);
}

async function openFiles(names: readonly string[]): Promise<InputFile[]> {
  const files: InputFile[] = [];
  for (const name of names) files.push(...(name === '-' ? openStream(process.stdin) : await openInput(name)));
  return files;
}

function requireOneRelease(names: readonly string[], kind: 'full' | 'incremental'): string {
  const [source, ...more] = names;
  if (source === undefined || more.length > 0)
    throw new UsageError('--format npd takes one folder or one URL');
  if (kind === 'incremental')
    throw new UsageError('A release is the whole national directory; import it without --incremental');
  return source;
}

function parseFormat(text: string): 'npd' {
  if (text !== 'npd') throw new UsageError('--format is npd; other formats are recognized by content');
  return text;
}

function parsePercent(text: string): number {
  const percent = readDecimal(text.replace(/%$/, ''));
  if (!(percent >= 0 && percent <= 100)) throw new UsageError('--max-refused is a percentage, 0 to 100');
  return percent / 100;
}

function parseLoadId(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new UsageError('a load is named by its number');
  return Number(text);
}

/** The status as lines for a person. */
function formatStatus(status: DirectoryStatus): string[] {
  return [
    status.active === undefined ? 'No directory has been loaded.' : `Active:   ${describe(status.active)}`,
    ...(status.previous === undefined ? [] : [`Rollback: ${describe(status.previous)}`]),
    ...(status.running === undefined ? [] : [`Running:  ${describe(status.running)}`]),
    // A single source without a name needs no list.
    ...(status.sources.length > 1 || status.sources.some(({ name }) => name !== 'default')
      ? formatSources(status.sources)
      : []),
    `Hosted addresses listed: ${status.provisionedCount}`,
    'Loads, newest first:',
    ...status.loads.flatMap(({ failure, ...load }) => [
      `  ${describe(load)}`,
      ...(failure === undefined ? [] : [`       ABORTED: ${failure}`]),
    ]),
  ];
}

function describe(load: LoadSummary): string {
  return (
    `load ${load.id}, ${load.state}, ${load.kind}, ${load.recordCount} records, from ${load.source} (${load.format}), ` +
    (load.finishedAt ?? `started ${load.startedAt}`)
  );
}
