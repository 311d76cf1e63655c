import { readJsonObject } from '../../../core/index.ts';
import { providerFields } from '../../../lib/provider-record/index.ts';
import { maxReportedLines } from '../limits.ts';
import { defaultSource } from '../store/sources.ts';
import type { LoadKind, LoadRow } from '../store/tables.ts';
import { formatReleaseReport, type ReleaseReport } from './npd/release-report.ts';
import { refusalReasons, warningReasons, type RefusalReason, type WarningReason } from './row.ts';

/** Count of a finding, and its first line numbers. */
export interface Finding {
  readonly count: number;
  /** Line numbers in the input, at most 100. */
  readonly lines: readonly number[];
}

/**
 * The quality report of a load. Example:
 * `{ "format": "own", "kind": "full", "rowsRead": 3, "loaded": 2, "refused": { "patient_address": { "count":
 * 1, "lines": [4] } }, … }`
 */
export interface LoadReport {
  readonly format: string;
  readonly kind: LoadKind;
  /** The input's name. */
  readonly source: string;
  /** The source of directory data that the load belongs to. */
  readonly sourceName: string;
  readonly rowsRead: number;
  /** Rows of the file that became or changed a record, or said the same again. */
  readonly loaded: number;
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Records of the source's previous generation that are gone. */
  readonly removed: number;
  /** Records of the source afterwards. */
  readonly recordCount: number;
  readonly refusedRows: number;
  readonly refused: Readonly<Partial<Record<RefusalReason, Finding>>>;
  readonly warnings: Readonly<Partial<Record<WarningReason, Finding>>>;
  /**
   * Part of the rows that was refused in the last load of the source in which this was accepted, 0 to 1;
   * absent if it never was (Decision 0008).
   */
  readonly acceptedRefusedShare?: number;
  /** By column, in how many records of the source's last full load it is not blank (Decision 0008). */
  readonly filled?: FilledCounts;
  /** Rows skipped on purpose, for example NPPES entries without a Direct address. */
  readonly skipped: number;
  readonly seconds: number;
  /** Of a release of the national directory: how its addresses are linked. */
  readonly release?: ReleaseReport;
  /** Why the load was abandoned; absent if it was activated. */
  readonly failure?: string;
}

/** By the name of the column. */
export type FilledCounts = Readonly<Record<string, number>>;

interface MutableFinding {
  count: number;
  lines: number[];
}

/** The counts of a load. */
export class ReportBuilder {
  rowsRead = 0;
  /** Of the NPPES endpoint file, which has no records. */
  endpointRowsRead = 0;
  added = 0;
  changed = 0;
  unchanged = 0;
  removed = 0;
  skipped = 0;
  acceptedRefusedShare = 0;
  /** That of the load before, until a full load has counted its own. */
  filled: FilledCounts | undefined;
  readonly #filled = new Uint32Array(providerFields.length);
  readonly #refused = new Map<RefusalReason, MutableFinding>();
  readonly #warnings = new Map<WarningReason, MutableFinding>();

  refuse(reason: RefusalReason, line: number): void {
    note(this.#refused, reason, line);
  }

  warn(reason: WarningReason, line: number): void {
    note(this.#warnings, reason, line);
  }

  /** Counts the values of a record. */
  fill(line: string): void {
    let start = 0;
    for (let field = 0; field < this.#filled.length; field++) {
      const end = line.indexOf('\t', start);
      if (end > start) this.#filled[field] = (this.#filled[field] as number) + 1;
      start = end + 1;
    }
  }

  /** What `fill` has counted. */
  get counted(): FilledCounts {
    return Object.fromEntries(providerFields.map(({ wireName }, at) => [wireName, this.#filled[at] ?? 0]));
  }

  get loaded(): number {
    return this.added + this.changed + this.unchanged;
  }

  get refusedRows(): number {
    let rows = 0;
    for (const finding of this.#refused.values()) rows += finding.count;
    return rows;
  }

  /**
   * The refused part, 0 to 1, of the rows with records or of those with NPPES endpoints, whichever is larger.
   */
  get refusedShare(): number {
    const endpointRows = this.#refused.get('endpoint_row')?.count ?? 0;
    return Math.max(
      shareOf(this.refusedRows - endpointRows, this.rowsRead),
      shareOf(endpointRows, this.endpointRowsRead),
    );
  }

  build(
    rest: Pick<
      LoadReport,
      'format' | 'kind' | 'source' | 'sourceName' | 'recordCount' | 'seconds' | 'release' | 'failure'
    >,
  ): LoadReport {
    const { rowsRead, loaded, added, changed, unchanged, removed, refusedRows, skipped } = this;
    const { acceptedRefusedShare, filled } = this;
    return {
      ...rest,
      rowsRead,
      loaded,
      added,
      changed,
      unchanged,
      removed,
      refusedRows,
      skipped,
      ...(acceptedRefusedShare > 0 && { acceptedRefusedShare }),
      ...(filled && { filled }),
      refused: Object.fromEntries(this.#refused),
      warnings: Object.fromEntries(this.#warnings),
    };
  }
}

/**
 * The report that a load left; undefined for a merge, while it runs, and for a row that was changed in the
 * database, which must not hide all others.
 */
export function storedReport(load: Pick<LoadRow, 'report'> | undefined): LoadReport | undefined {
  const report = load && readJsonObject(load.report);
  const isReport = typeof report?.['refused'] === 'object' && typeof report['warnings'] === 'object';
  return isReport ? (report as unknown as LoadReport) : undefined;
}

function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function note<Reason>(findings: Map<Reason, MutableFinding>, reason: Reason, line: number): void {
  let finding = findings.get(reason);
  if (finding === undefined) {
    finding = { count: 0, lines: [] };
    findings.set(reason, finding);
  }
  finding.count++;
  if (finding.lines.length < maxReportedLines) finding.lines.push(line);
}

/** The report as lines for a person. */
export function formatReport(report: LoadReport): string[] {
  const isFailed = report.failure !== undefined;
  const place = intoSource(report) === '' ? 'directory' : `source ${report.sourceName}`;
  const counts =
    `${report.rowsRead} rows read, ${report.loaded} ${isFailed ? 'to load' : 'loaded'} ` +
    `(${report.added} added, ${report.changed} changed, ${report.unchanged} unchanged), ` +
    `${report.removed} ${isFailed ? 'to be removed' : 'removed'}, ${report.refusedRows} refused` +
    (report.skipped > 0 ? `, ${report.skipped} skipped` : '');
  return [
    `${report.kind} load of ${report.source}${intoSource(report)} (format ${report.format}), ${report.seconds.toFixed(1)} s`,
    ...(report.failure === undefined ? [] : [`ABORTED: ${report.failure}`]),
    counts,
    isFailed ? `The ${place} is unchanged.` : `${report.recordCount} records in the ${place}`,
    ...(report.release === undefined ? [] : formatReleaseReport(report.release)),
    ...listFindings(report).map(formatFinding),
  ];
}

function intoSource({ sourceName }: Pick<LoadReport, 'sourceName'>): string {
  return sourceName === defaultSource ? '' : ` into the source ${sourceName}`;
}

/** One kind of thing that a load met, in words. */
export interface ReportedFinding extends Finding {
  readonly kind: 'refused' | 'warning';
  readonly reason: string;
  readonly text: string;
}

/** The findings of a report, refusals first. */
export function listFindings({
  refused,
  warnings,
}: Pick<LoadReport, 'refused' | 'warnings'>): ReportedFinding[] {
  return [
    ...describeFindings('refused', refused, refusalReasons),
    ...describeFindings('warning', warnings, warningReasons),
  ];
}

function describeFindings<Reason extends string>(
  kind: ReportedFinding['kind'],
  findings: Readonly<Partial<Record<Reason, Finding>>>,
  texts: Readonly<Record<Reason, string>>,
): ReportedFinding[] {
  return Object.entries<Finding | undefined>(findings).flatMap(([reason, finding]) =>
    finding === undefined ? [] : [{ kind, reason, text: texts[reason as Reason], ...finding }],
  );
}

function formatFinding({ kind, reason, text, count, lines }: ReportedFinding): string {
  const more = count > 10 ? ', …' : '';
  return `  ${kind} ${reason}: ${count}. ${text} Lines ${lines.slice(0, 10).join(', ')}${more}`;
}
