import { InvalidArgumentError } from 'commander';
import { systemClock } from '../../core/index.ts';

/** The value of `--since` and `--until`: a date, a date with time, or how long ago: `30m`, `12h`, `7d`. */
export function readTime(text: string): Date {
  const ago = /^(\d{1,5})([mhd])$/.exec(text);
  if (ago !== null) {
    const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }[ago[2] as 'm' | 'h' | 'd'];
    return new Date(systemClock.now().getTime() - Number(ago[1]) * unitMs);
  }
  const at = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(at.getTime())) return at;
  throw new InvalidArgumentError(
    'It must be a date such as 2026-11-21 or 2026-11-21T08:00:00Z, or a time ago: 30m, 12h, 7d.',
  );
}

/** An end in the future: a date, a date with time, or how long from now: `30m`, `12h`, `7d`. */
export function readEnd(text: string): Date {
  const now = systemClock.now().getTime();
  const given = readTime(text);
  // The same words mean the other direction.
  const at = /^\d{1,5}[mhd]$/.test(text) ? new Date(2 * now - given.getTime()) : given;
  if (at.getTime() > now) return at;
  throw new InvalidArgumentError('It must be in the future: 2h, or 2026-11-21T08:00:00Z.');
}
