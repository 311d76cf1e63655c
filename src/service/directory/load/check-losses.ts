import { DirectoryError } from '../errors.ts';
import type { LoadKind } from '../store/tables.ts';
import type { LoadReport, ReportBuilder } from './quality-report.ts';

/** Part of the rows that may be refused in a full load. */
const usualRefusedShare = 0.05;
/** Part of a source's records that may go with one load. */
const usualLostShare = 0.1;
/** Fewer records may always go: a small source changes by large parts. */
const fewestLost = 100;
/** Rows refused beyond the share that was accepted before. */
const acceptedMargin = 0.01;

/** What a load may lose. */
export interface LossLimits {
  /** The report was seen: what is usually refused is loaded. */
  readonly acceptLoss?: boolean | undefined;
  /** Largest part of the rows that may be refused, 0 to 1, whatever is usual or accepted. */
  readonly maxRefusedShare?: number | undefined;
}

export interface CheckedLoad extends LossLimits {
  readonly kind: LoadKind;
  readonly report: ReportBuilder;
  /** Records of the source before the load. */
  readonly knownCount: number;
  /** The report of the source's active generation. */
  readonly before: Pick<LoadReport, 'acceptedRefusedShare' | 'filled'> | undefined;
}

/**
 * Refuses a load that would replace good data by what is left of a damaged file (Decision 0008), records or
 * the values of a column; the report gets the values that count from now on. Returns the
 * refused share that counts as accepted from now on, 0 to 1: a file whose faults are known is not refused
 * each time. Throws DIRECTORY_TOO_MANY_REFUSED, DIRECTORY_TOO_MANY_LOST.
 */
export function checkLosses(load: CheckedLoad): number {
  const { kind, report, knownCount, acceptLoss = false, maxRefusedShare } = load;
  // A program that compared its data with an empty file writes an increment of removals.
  const lostCount = report.removed;
  const accepted = load.before?.acceptedRefusedShare ?? 0;
  const share = report.refusedShare;
  // An empty full load would empty the directory, most likely by mistake.
  if (kind === 'full' && report.loaded === 0)
    throw tooMany('REFUSED', 'No row of the file can be loaded; the directory stays as it is');
  if (maxRefusedShare !== undefined && share > maxRefusedShare)
    throw tooMany('REFUSED', `${percentOf(share)} of the rows are refused, more than allowed`);
  const usual = Math.max(usualRefusedShare, accepted === 0 ? 0 : accepted + acceptedMargin);
  if (kind === 'full' && !acceptLoss && maxRefusedShare === undefined && share > usual)
    throw tooMany(
      'REFUSED',
      `${percentOf(share)} of the rows are refused, more than ${percentOf(usual)}; the directory stays as it is. ${advice}`,
    );
  if (!acceptLoss && lostCount >= fewestLost && lostCount > knownCount * usualLostShare)
    throw tooMany(
      'LOST',
      `${lostCount} of the ${knownCount} records of the source would be removed, more than ${percentOf(usualLostShare)}; the directory stays as it is. ${advice}`,
    );
  report.filled = kind === 'full' ? report.counted : load.before?.filled;
  for (const [column, before] of Object.entries(load.before?.filled ?? {})) {
    const blanked = before - (report.filled?.[column] ?? 0);
    if (!acceptLoss && blanked >= fewestLost && blanked > knownCount * usualLostShare)
      throw tooMany(
        'LOST',
        `${column} would be blank in ${blanked} more of the ${knownCount} records of the source, more than ${percentOf(usualLostShare)}; the directory stays as it is. ${advice}`,
      );
  }
  return share > usualRefusedShare ? share : accepted;
}

const advice = 'See the report; if the input is right, load it with accepted loss (--accept-loss).';

function tooMany(what: 'REFUSED' | 'LOST', message: string): DirectoryError {
  return new DirectoryError(`DIRECTORY_TOO_MANY_${what}`, message);
}

function percentOf(share: number): string {
  return `${(share * 100).toFixed(1).replace(/\.0$/, '')} %`;
}
