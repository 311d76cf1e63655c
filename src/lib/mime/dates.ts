const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A date as RFC 5322 §3.3 writes it, in UTC: `Sat, 21 Nov 2026 10:36:55 +0000`. */
export function formatDate(at: Date): string {
  const day = String(at.getUTCDate()).padStart(2, '0');
  const time = at.toISOString().slice(11, 19);
  return `${days[at.getUTCDay()]}, ${day} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()} ${time} +0000`;
}

const mailForm =
  /^(?:(?:sun|mon|tue|wed|thu|fri|sat) ?, ?)?(\d{1,2}) (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) (\d{2,4}) (\d{2}) ?: ?(\d{2})(?: ?: ?(\d{2}))? ([+-]\d{4}|(?![ap]m$)[a-z]{1,5})$/i;
const isoForm =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)? ?(Z|[+-]\d{2}:?\d{2})$/i;

/**
 * RFC 5322 §4.3, in hours; every other name of letters is `-0000`, whose place is unknown and whose time is
 * UTC. AM and PM name no zone.
 */
const zones: Readonly<Record<string, number>> = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
};

/**
 * Reads a Date value: RFC 5322 §3.3 with comments and its obsolete forms (§4.3), or ISO 8601 with time and
 * zone. Undefined for anything else, and for days and times that do not exist: a date that has to be guessed
 * is none.
 */
export function readDate(headerValue: string): Date | undefined {
  const text = stripDateComments(headerValue)?.replaceAll(/\s+/g, ' ').trim() ?? '';
  const iso = isoForm.exec(text);
  if (iso !== null) {
    const [, year, month, day, hour, minute, second, zone] = iso;
    return toDate([Number(year), Number(month) - 1, day, hour, minute, second], zone ?? '');
  }
  const [, day, month, year = '', hour, minute, second, zone = ''] = mailForm.exec(text) ?? [];
  if (month === undefined) return undefined;
  const position = months.findIndex((name) => name.toLowerCase() === month.toLowerCase());
  return toDate([fullYear(year), position, day, hour, minute, second], zone);
}

/** RFC 5322 §4.3: two digits below 50 are of this century, all others, and three digits, count from 1900. */
function fullYear(year: string): number {
  if (year.length === 4) return Number(year);
  return Number(year) + (year.length === 2 && Number(year) < 50 ? 2000 : 1900);
}

type Fields = readonly [year: number, month: number, ...others: readonly (string | undefined)[]];

function toDate([year, month, day, hour, minute, second]: Fields, zone: string): Date | undefined {
  const [date, hours, minutes, seconds] = [day, hour, minute, second].map((digits) => Number(digits ?? 0));
  const offset = offsetMinutes(zone);
  if (date === undefined || hours === undefined || minutes === undefined || seconds === undefined)
    return undefined;
  if (offset === undefined || hours > 23 || minutes > 59 || seconds > 60 || year < 1900) return undefined;
  const at = new Date(Date.UTC(year, month, date, hours, minutes, Math.min(seconds, 59)));
  // The 31st of a month with 30 days would be the first of the next one.
  if (at.getUTCMonth() !== month || at.getUTCDate() !== date) return undefined;
  return new Date(at.getTime() - offset * 60_000);
}

function offsetMinutes(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  if (sign === undefined) return 60 * (zones[zone.toUpperCase()] ?? 0);
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (60 * Number(hours) + Number(minutes));
}

const maxDateLength = 1000;

/** Comments, which may hold others, become blanks; undefined if one does not end. */
function stripDateComments(value: string): string | undefined {
  let depth = 0;
  let result = '';
  for (let index = 0; index < Math.min(value.length, maxDateLength); index++) {
    const character = value.charAt(index);
    if (character === '\\' && depth > 0) index++;
    else if (character === '(') depth++;
    else if (character === ')' && depth > 0) depth--;
    else result += depth === 0 ? character : '';
    if (character === ')') result += ' ';
  }
  return depth > 0 || value.length > maxDateLength ? undefined : result;
}
