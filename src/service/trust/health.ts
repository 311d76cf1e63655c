import { countOf } from '../../core/index.ts';
import { describeKeyWarning, type DomainKeyDates } from './key-dates.ts';

/**
 * Whether something needs an operator, and the sentence that says so. `waiting`: it is not done yet, and
 * nothing is wrong.
 */
export interface Health {
  readonly level: 'ok' | 'waiting' | 'warning' | 'failed';
  readonly text: string;
}

export function needsOperator({ level }: Health): boolean {
  return level === 'warning' || level === 'failed';
}

export interface BundleTimes {
  readonly createdAt: Date;
  readonly refreshedAt: Date | undefined;
  readonly refreshSeconds: number;
  readonly lastError: string;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/**
 * How long after its time a refresh may come before the bundle is old; one of every day is old after three
 * days.
 */
const lateMs = 2 * dayMs;

/**
 * The one rule for what is wrong with a trust bundle: of the console, the doctor, the readiness details and
 * the metrics.
 */
export function healthOfBundle(
  { createdAt, refreshedAt, refreshSeconds, lastError }: BundleTimes,
  now: Date,
): Health {
  if (refreshedAt === undefined) {
    if (lastError !== '') return { level: 'failed', text: 'Never fetched.' };
    // A running server fetches a new bundle within a minute.
    return now.getTime() - createdAt.getTime() > hourMs
      ? { level: 'warning', text: 'Never fetched.' }
      : { level: 'waiting', text: 'Not fetched yet.' };
  }
  const ageMs = now.getTime() - refreshedAt.getTime();
  const isOld = ageMs > refreshSeconds * 1000 + lateMs;
  if (lastError !== '')
    return {
      level: isOld ? 'failed' : 'warning',
      text: 'The last refresh failed; the anchors of the last successful refresh are used.',
    };
  return isOld
    ? { level: 'warning', text: `Not refreshed for ${countOf(Math.floor(ageMs / dayMs), 'day')}.` }
    : { level: 'ok', text: 'Refreshed.' };
}

/** The same for a hosted domain, by its keys and the number of its anchors. */
export function healthOfDomain({ isInUse, daysLeft, warnings }: DomainKeyDates, anchorCount: number): Health {
  if (!isInUse) return { level: 'ok', text: 'Out of use: all its addresses are disabled.' };
  const bad = warnings.find(({ problem }) => problem !== 'expires-soon');
  if (bad !== undefined) return { level: 'failed', text: describeKeyWarning(bad) };
  if (anchorCount === 0) return { level: 'failed', text: 'No anchor: nothing is trusted.' };
  const [soon] = warnings;
  if (soon !== undefined) return { level: 'warning', text: describeKeyWarning(soon) };
  return { level: 'ok', text: `Keys are valid for ${countOf(Math.floor(daysLeft ?? 0), 'more day')}.` };
}
