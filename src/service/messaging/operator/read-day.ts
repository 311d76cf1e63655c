/** From the first moment of a day to the first of the next. */
export interface DaySpan {
  readonly start: Date;
  readonly end: Date;
}

interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** True for a name of the IANA database that this program knows. */
export function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Reads a day as people in the United States write it: `2026-11-20`, `11/20/2026`, `11/20/26`, `11/20` (the
 * last one that has begun), `today`, `yesterday`. It begins at midnight of the zone. Undefined for other
 * text.
 */
export function readDay(text: string, now: Date, zone: string): DaySpan | undefined {
  const today = dayAt(now, zone);
  const found = findDay(text.toLowerCase(), today);
  if (found === undefined) return undefined;
  return { start: startOf(found, zone), end: startOf({ ...found, day: found.day + 1 }, zone) };
}

function findDay(text: string, today: Day): Day | undefined {
  if (text === 'today') return today;
  if (text === 'yesterday') return { ...today, day: today.day - 1 };
  const [, isoYear, isoMonth, isoDay] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (isoYear !== undefined) return existing(Number(isoYear), Number(isoMonth), Number(isoDay));
  const [, month, day, year] = /^(\d{1,2})\/(\d{1,2})(?:\/(\d{4}|\d\d))?$/.exec(text) ?? [];
  if (month === undefined) return undefined;
  if (year !== undefined)
    return existing(Number(year.length === 2 ? `20${year}` : year), Number(month), Number(day));
  const isAhead = Number(month) > today.month || (Number(month) === today.month && Number(day) > today.day);
  return existing(isAhead ? today.year - 1 : today.year, Number(month), Number(day));
}

function existing(year: number, month: number, day: number): Day | undefined {
  const at = new Date(Date.UTC(year, month - 1, day));
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day ? { year, month, day } : undefined;
}

function dayAt(at: Date, zone: string): Day {
  const shown = new Date(at.getTime() + offsetMs(at, zone));
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1, day: shown.getUTCDate() };
}

function startOf({ year, month, day }: Day, zone: string): Date {
  const wall = Date.UTC(year, month - 1, day);
  // The offset at the midnight itself, which may differ from that of the same hour in UTC.
  const near = wall - offsetMs(new Date(wall), zone);
  return new Date(wall - offsetMs(new Date(near), zone));
}

/** What a clock in the zone is ahead of UTC. */
function offsetMs(at: Date, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const numbers = new Map(parts.map(({ type, value }) => [type, Number(value)]));
  const read = (type: Intl.DateTimeFormatPartTypes): number => numbers.get(type) ?? 0;
  const wall = Date.UTC(
    read('year'),
    read('month') - 1,
    read('day'),
    read('hour'),
    read('minute'),
    read('second'),
  );
  return wall - Math.floor(at.getTime() / 1000) * 1000;
}
