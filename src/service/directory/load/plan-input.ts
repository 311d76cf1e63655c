import { DirectoryError } from '../errors.ts';
import { createDirectTrustFormat, isDirectTrustHeader } from './formats/directtrust.ts';
import type { RowFormat } from './formats/format.ts';
import {
  createEndpointCollector,
  isNppesEndpointHeader,
  type NppesEndpoints,
} from './formats/nppes-endpoints.ts';
import { createNppesFormat, isNppesHeader, type TaxonomyNames } from './formats/nppes.ts';
import {
  createOtherNameCollector,
  isNppesOtherNamesHeader,
  type NppesOtherNames,
} from './formats/nppes-other-names.ts';
import { createOwnFormat, isOwnHeader } from './formats/own.ts';
import type { ReleaseReport } from './npd/release-report.ts';
import type { InputFile } from './open-input.ts';
import type { ReportBuilder } from './quality-report.ts';
import { findRowFault, openTable, type OpenTable } from './read-rows.ts';

/** The table whose rows become records, and how they are read. */
export interface InputPlan {
  readonly file: Pick<InputFile, 'name'>;
  readonly format: RowFormat;
  readonly table: OpenTable;
  /** Summary of a release of the national directory; available after all rows were read. */
  readonly describeRelease?: () => ReleaseReport | undefined;
}

export interface PlanOptions {
  readonly files: readonly InputFile[];
  readonly taxonomy?: TaxonomyNames | undefined;
  readonly onBytes: (count: number) => void;
  /** Counts the rows of NPPES endpoints. */
  readonly report: ReportBuilder;
  /** The format that the records must have. */
  readonly format?: TableFormat | undefined;
}

/** The formats of files with records. */
export type TableFormat = 'own' | 'directtrust' | 'nppes';

type TableKind = TableFormat | 'nppes-endpoints' | 'nppes-other-names' | 'other';

/**
 * Identifies the files by their headers and prepares to read the one with the records; NPPES endpoints are
 * read first. Throws DIRECTORY_FORMAT_UNKNOWN unless exactly one file has records; no file stays open then.
 */
export async function planInput(options: PlanOptions): Promise<InputPlan> {
  const opened: OpenTable[] = [];
  try {
    return await planTables(options, opened);
  } catch (error) {
    for (const table of opened) table.close();
    throw error;
  }
}

interface FoundTable {
  readonly file: InputFile;
  readonly table: OpenTable;
}

/** The tables that are open go to `opened`. */
async function planTables(options: PlanOptions, opened: OpenTable[]): Promise<InputPlan> {
  let main: (FoundTable & { kind: TableFormat }) | undefined;
  let endpoints: (FoundTable & { found: NppesEndpoints }) | undefined;
  let names: FoundTable | undefined;
  for (const file of options.files) {
    const table = await openTable(await file.open(options.onBytes));
    opened.push(table);
    const kind = kindOf(table.header);
    if (kind === 'nppes-endpoints') {
      if (endpoints !== undefined) throw bothHold(endpoints.file, file, 'NPPES endpoints');
      endpoints = { file, table, found: await readEndpoints(table, options.report) };
    } else if (kind === 'nppes-other-names') {
      if (names !== undefined) throw bothHold(names.file, file, 'other names of NPPES');
      names = { file, table };
    } else if (kind === 'other') table.close();
    else if (main === undefined) main = { file, table, kind };
    else throw bothHold(main.file, file, 'records');
  }
  if (main === undefined) {
    throw new DirectoryError(
      'DIRECTORY_FORMAT_UNKNOWN',
      'No file has the columns of a directory: serv_direct_addr, service_direct_address, or those of NPPES',
    );
  }
  if (options.format !== undefined && options.format !== main.kind) {
    throw new DirectoryError(
      'DIRECTORY_FORMAT_UNKNOWN',
      `${main.file.name} has the columns of the format ${main.kind}, not of ${options.format}`,
    );
  }
  // The file of other names is read when it is known whose are needed.
  const otherNames =
    names && endpoints && (await readOtherNames(names.table, endpoints.found, options.report));
  names?.table.close();
  return {
    file: main.file,
    table: main.table,
    format: chooseFormat(main.kind, main.table, options.taxonomy, endpoints?.found, otherNames),
  };
}

function bothHold(one: InputFile, other: InputFile, what: string): DirectoryError {
  return new DirectoryError('DIRECTORY_FORMAT_UNKNOWN', `${one.name} and ${other.name} both hold ${what}`);
}

function kindOf(header: readonly string[]): TableKind {
  if (isOwnHeader(header)) return 'own';
  if (isDirectTrustHeader(header)) return 'directtrust';
  if (isNppesHeader(header)) return 'nppes';
  if (isNppesEndpointHeader(header)) return 'nppes-endpoints';
  return isNppesOtherNamesHeader(header) ? 'nppes-other-names' : 'other';
}

/**
 * Throws DIRECTORY_FILE_BROKEN for a file that was cut short: the addresses that it lacks would be removed.
 */
async function readEndpoints(table: OpenTable, report: ReportBuilder): Promise<NppesEndpoints> {
  const collector = createEndpointCollector(table.header);
  for await (const rows of table.rows(collector.wanted)) {
    for (const row of rows) {
      report.endpointRowsRead++;
      if (findRowFault(row, table) === undefined) collector.add(row.fields);
      else report.refuse('endpoint_row', row.line);
    }
  }
  return collector;
}

/** Throws DIRECTORY_FILE_BROKEN for a file that was cut short. */
async function readOtherNames(
  table: OpenTable,
  endpoints: NppesEndpoints,
  report: ReportBuilder,
): Promise<NppesOtherNames> {
  const collector = createOtherNameCollector(table.header, (npi) => endpoints.find(npi).length > 0);
  for await (const rows of table.rows(collector.wanted)) {
    for (const row of rows)
      if (findRowFault(row, table) === undefined) collector.add(row.fields);
      else report.warn('other_name_row', row.line);
  }
  return collector;
}

function chooseFormat(
  kind: TableFormat,
  table: OpenTable,
  taxonomy: TaxonomyNames | undefined,
  endpoints: NppesEndpoints | undefined,
  otherNames: NppesOtherNames | undefined,
): RowFormat {
  if (kind === 'own') return createOwnFormat(table.header);
  if (kind === 'directtrust') return createDirectTrustFormat(table.header);
  if (endpoints === undefined) {
    throw new DirectoryError(
      'DIRECTORY_FORMAT_UNKNOWN',
      'The NPPES main file needs the NPPES endpoint file next to it',
    );
  }
  return createNppesFormat(table.header, endpoints, taxonomy ?? new Map(), otherNames);
}
