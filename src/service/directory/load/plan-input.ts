import { DirectoryError } from '../errors.ts';
import { createDirectTrustFormat, isDirectTrustHeader } from './formats/directtrust.ts';
import type { RowFormat } from './formats/format.ts';
import {
  createEndpointCollector,
  isNppesEndpointHeader,
  type NppesEndpoints,
} from './formats/nppes-endpoints.ts';
import { createNppesFormat, isNppesHeader, type TaxonomyNames } from './formats/nppes.ts';
import { createOwnFormat, isOwnHeader } from './formats/own.ts';
import type { ReleaseReport } from './npd/release-report.ts';
import type { InputFile } from './open-input.ts';
import { openTable, type OpenTable } from './read-rows.ts';

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
  /** The format that the records must have. */
  readonly format?: TableFormat | undefined;
}

/** The formats of files with records. */
export type TableFormat = 'own' | 'directtrust' | 'nppes';

type TableKind = TableFormat | 'nppes-endpoints' | 'other';

/**
 * Identifies the files by their headers and prepares to read the one with the records; NPPES endpoints are read
 * first. Throws DIRECTORY_FORMAT_UNKNOWN unless exactly one file has records.
 */
export async function planInput(options: PlanOptions): Promise<InputPlan> {
  let main: { file: InputFile; table: OpenTable; kind: TableFormat } | undefined;
  let endpoints: NppesEndpoints | undefined;
  for (const file of options.files) {
    const table = await openTable(await file.open(options.onBytes));
    const kind = kindOf(table.header);
    if (kind === 'nppes-endpoints') endpoints = await readEndpoints(table);
    else if (kind === 'other') table.close();
    else if (main === undefined) main = { file, table, kind };
    else
      throw new DirectoryError(
        'DIRECTORY_FORMAT_UNKNOWN',
        `${main.file.name} and ${file.name} both hold records`,
      );
  }
  if (main === undefined) {
    throw new DirectoryError(
      'DIRECTORY_FORMAT_UNKNOWN',
      'No file has the columns of a directory: serv_direct_addr, service_direct_address, or those of NPPES',
    );
  }
  if (options.format !== undefined && options.format !== main.kind) {
    main.table.close();
    throw new DirectoryError(
      'DIRECTORY_FORMAT_UNKNOWN',
      `${main.file.name} has the columns of the format ${main.kind}, not of ${options.format}`,
    );
  }
  return {
    file: main.file,
    table: main.table,
    format: chooseFormat(main.kind, main.table, endpoints, options.taxonomy),
  };
}

function kindOf(header: readonly string[]): TableKind {
  if (isOwnHeader(header)) return 'own';
  if (isDirectTrustHeader(header)) return 'directtrust';
  if (isNppesHeader(header)) return 'nppes';
  return isNppesEndpointHeader(header) ? 'nppes-endpoints' : 'other';
}

async function readEndpoints(table: OpenTable): Promise<NppesEndpoints> {
  const collector = createEndpointCollector(table.header);
  for await (const rows of table.rows(collector.wanted)) {
    for (const row of rows) if (row.isMisquoted !== true) collector.add(row.fields);
  }
  return collector;
}

function chooseFormat(
  kind: TableFormat,
  table: OpenTable,
  endpoints: NppesEndpoints | undefined,
  taxonomy: TaxonomyNames | undefined,
): RowFormat {
  if (kind === 'own') return createOwnFormat(table.header);
  if (kind === 'directtrust') return createDirectTrustFormat(table.header);
  if (endpoints === undefined) {
    throw new DirectoryError(
      'DIRECTORY_FORMAT_UNKNOWN',
      'The NPPES main file needs the NPPES endpoint file next to it',
    );
  }
  return createNppesFormat(table.header, endpoints, taxonomy ?? new Map());
}
