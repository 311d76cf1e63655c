import type { TimeRange } from '../../../lib/provider-index/index.ts';

// A year, a month, a day, or a time of at least minutes with its zone (FHIR R4: date parameters); without a
// zone it is UTC.
const datePattern =
  /^(eq|ne|gt|ge|lt|le|sa|eb)?([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?)?)?$/;

/**
 * The whole seconds that a value of a date parameter is about: `ge2026-11`, `2026-11-22T10:00Z`. Undefined if
 * it is none. A value stands for all of its year, month, day, minute, second or fraction of one.
 */
export function parseDate(value: string): readonly TimeRange[] | undefined {
  // A plus sign is a blank in a query that did not escape it.
  const found = datePattern.exec(value.replace(' ', '+'));
  if (found === null) return undefined;
  const [, prefix = 'eq'] = found;
  const bounds = boundsOf(found);
  if (bounds === undefined) return undefined;
  // Times of the directory are whole seconds.
  const [from, end] = bounds.map((ms) => Math.max(0, Math.ceil(ms / 1000))) as [number, number];
  switch (prefix) {
    case 'ne':
      return [
        [0, from],
        [end, Infinity],
      ];
    case 'gt':
    case 'sa':
      return [[end, Infinity]];
    case 'ge':
      return [[from, Infinity]];
    case 'lt':
    case 'eb':
      return [[0, from]];
    case 'le':
      return [[0, end]];
    default:
      return [[from, end]];
  }
}

/** Milliseconds since 1970: the first of the value, and the first after it. */
function boundsOf([, , year, month, day, hour, minute, second, fraction, zone = 'Z']: RegExpExecArray):
  | readonly [from: number, end: number]
  | undefined {
  const [y, m, d] = [Number(year), Number(month ?? 1), Number(day ?? 1)];
  const start = Date.UTC(y, m - 1, d);
  const date = new Date(start);
  if (y < 1970 || date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return undefined;
  if (month === undefined) return [start, Date.UTC(y + 1, 0, 1)];
  if (day === undefined) return [start, Date.UTC(y, m, 1)];
  if (hour === undefined) return [start, start + 86_400_000];
  const [h, min, sec] = [Number(hour), Number(minute), Number(second ?? 0)];
  const offset = zone === 'Z' ? 0 : offsetOf(zone);
  // A leap second is the next one.
  if (h > 23 || min > 59 || sec > 60 || offset === undefined) return undefined;
  const from = start + (h * 60 + min - offset) * 60_000 + sec * 1000;
  if (second === undefined) return [from, from + 60_000];
  if (fraction === undefined) return [from, from + 1000];
  return [
    from + Number(`0.${fraction}`) * 1000,
    from + (Number(`0.${fraction}`) + 10 ** -fraction.length) * 1000,
  ];
}

/** Minutes east of Greenwich. */
function offsetOf(zone: string): number | undefined {
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))];
  if (hours > 14 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** The intersection of two lists of ranges. */
export function bothRanges(a: readonly TimeRange[], b: readonly TimeRange[]): TimeRange[] {
  return a.flatMap(([fromA, endA]) =>
    b
      .map(([fromB, endB]): TimeRange => [Math.max(fromA, fromB), Math.min(endA, endB)])
      .filter(([from, end]) => from < end),
  );
}

/** The instant of `_since`; undefined if it is none. Seconds that came after it. */
export function parseSince(value: string): TimeRange | undefined {
  const found = datePattern.exec(value.replace(' ', '+'));
  const [, prefix, , , , hour, , second, , zone] = found ?? [];
  if (
    found === null ||
    prefix !== undefined ||
    hour === undefined ||
    zone === undefined ||
    second === undefined
  )
    return undefined;
  const [from] = boundsOf(found) ?? [];
  return from === undefined ? undefined : [Math.floor(from / 1000) + 1, Infinity];
}
