import { InvalidArgumentError } from 'commander';
import { systemClock } from '../../core/index.ts';

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(\.\d{1,3})?)?\s?(Z|UTC|[+-]\d\d:?\d\d)?)?$/i;

/** The zone of times that name none, such as `America/Chicago`: that of this machine, or `TZ`. */
const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** What `readTime` takes, for the help of an option. */
export const timeForms = (): string =>
  `2026-11-21 or 2026-11-21T08:00 (in ${localZone()}), 2026-11-21T08:00Z, …+05:00, or 30m, 12h, 7d ago`;

/**
 * The value of `--since` and `--until`: a date, a date with time, or how long ago: `30m`, `12h`, `7d`. A date
 * and a time without a zone are those of this machine's zone, alike.
 */
export function readTime(text: string): Date {
  return read(text, `It must be a date, a time, or how long ago: ${timeForms()}.`);
}

function read(text: string, fault: string): Date {
  const ago = /^(\d{1,5})([mhd])$/.exec(text);
  if (ago !== null) {
    const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }[ago[2] as 'm' | 'h' | 'd'];
    return new Date(systemClock.now().getTime() - Number(ago[1]) * unitMs);
  }
  const at = readDate(text);
  if (at !== undefined) return at;
  throw new InvalidArgumentError(fault);
}

/** Undefined for what is no date, such as February 30. */
function readDate(text: string): Date | undefined {
  const found = form.exec(text);
  if (found === null) return undefined;
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', part = '', zone] =
    found;
  const written = `${year}-${month}-${day}T${hour}:${minute}:${second}${part}`;
  // Without the zone, to see whether there is such a day and such a time.
  const plain = new Date(`${written}Z`);
  if (Number.isNaN(plain.getTime()) || !plain.toISOString().startsWith(written.slice(0, 19)))
    return undefined;
  const offset =
    zone === undefined || !/^[+-]/.test(zone) ? zone && 'Z' : zone.replace(/^(...)(\d\d)$/, '$1:$2');
  const at = new Date(`${written}${offset ?? ''}`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** What `readFuture` and `readEnd` take, for the help of an option. */
export const futureForms = (): string =>
  `2026-11-21 or 2026-11-21T08:00 (in ${localZone()}), 2026-11-21T08:00Z, …+05:00, or in 30m, 12h, 7d`;

/** A date, a date with time, or how long from now: `30m`, `12h`, `7d`. */
export function readFuture(text: string): Date {
  const given = read(text, `It must be a date, a time, or in how long: ${futureForms()}.`);
  // The same words mean the other direction.
  return /^\d{1,5}[mhd]$/.test(text) ? new Date(2 * systemClock.now().getTime() - given.getTime()) : given;
}

/** The same for an end, which must be in the future. */
export function readEnd(text: string): Date {
  const at = readFuture(text);
  if (at > systemClock.now()) return at;
  throw new InvalidArgumentError(`It must be in the future: ${futureForms()}.`);
}
