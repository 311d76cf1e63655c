/** A day, with `T` and the time where one belongs to it, both of the viewer's zone: `2026-11-20T08:00`. */
export type LocalDate = string;

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const two = (value: number): string => String(value).padStart(2, '0');

export function toDay(at: Date): LocalDate {
  return `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The day at noon, where no clock is changed; undefined without a day. */
export function dayOf(local: LocalDate): Date | undefined {
  const at = new Date(`${local.slice(0, 10)}T12:00`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** 11/20/2026, or 11/20/2026, 8:00 AM */
export function showDate(local: LocalDate): string {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d:\d\d))?/.exec(local) ?? [];
  if (year === undefined) return '';
  return `${Number(month)}/${Number(day)}/${year}${time === undefined ? '' : `, ${showTime(time)}`}`;
}

/** `08:00` as 8:00 AM */
export function showTime(time: string): string {
  const hour = Number(time.slice(0, 2));
  return `${hour % 12 || 12}${time.slice(2)} ${hour < 12 ? 'AM' : 'PM'}`;
}

interface Reading {
  readonly now: Date;
  readonly withTime: boolean;
  /** A day without a year is the next one; else the last one that has begun, as in searches. */
  readonly isAhead: boolean;
}

/**
 * What people write: `11/20`, `11/20/26`, `Nov 20, 2026`, `2026-11-20`, `today`, `yesterday`, `tomorrow`, and
 * behind it `8 am`, `8:00 PM` or `14:30`; without a time, midnight. Undefined for other text.
 */
export function readDate(text: string, { now, withTime, isAhead }: Reading): LocalDate | undefined {
  const found = /^(.+?)(?:(?:,? +|T)(\d{1,2}(?::\d\d)? *[ap]\.?m\.?|\d{1,2}:\d\d))?$/i.exec(text.trim());
  const [, dayText = '', timeText] = found ?? [];
  const day = readDay(dayText.toLowerCase(), now, isAhead);
  if (day === undefined || (timeText !== undefined && !withTime)) return undefined;
  const time = timeText === undefined ? '00:00' : readTime(timeText.toLowerCase());
  if (time === undefined) return undefined;
  return withTime ? `${toDay(day)}T${time}` : toDay(day);
}

function readDay(text: string, now: Date, isAhead: boolean): Date | undefined {
  const away = { yesterday: -1, today: 0, tomorrow: 1 }[text];
  if (away !== undefined) return new Date(now.getFullYear(), now.getMonth(), now.getDate() + away);
  const iso = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (iso !== null) return existing(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const [, number, name, day, year] =
    /^(?:(\d{1,2})\/|([a-z]{3})[a-z]*\.? +)(\d{1,2})(?:(?:\/|,? +)(\d{4}|\d\d))?$/.exec(text) ?? [];
  if (day === undefined) return undefined;
  const month = number === undefined ? months.indexOf(name ?? '') + 1 : Number(number);
  if (year !== undefined) return existing(Number(year.length === 2 ? `20${year}` : year), month, Number(day));
  const today = toDay(now).slice(5);
  const written = `${two(month)}-${two(Number(day))}`;
  const turn = isAhead ? Number(written < today) : -Number(written > today);
  return existing(now.getFullYear() + turn, month, Number(day));
}

function existing(year: number, month: number, day: number): Date | undefined {
  const at = new Date(year, month - 1, day);
  return at.getMonth() === month - 1 && at.getDate() === day ? at : undefined;
}

function readTime(text: string): string | undefined {
  const [, hour, minute = '00', half] = /^(\d{1,2})(?::(\d\d))? *(?:([ap])\.?m\.?)?$/.exec(text) ?? [];
  const [given, least, most] = [Number(hour), half === undefined ? 0 : 1, half === undefined ? 23 : 12];
  if (!(given >= least && given <= most) || Number(minute) > 59) return undefined;
  return `${two(half === undefined ? given : (given % 12) + (half === 'p' ? 12 : 0))}:${minute}`;
}
