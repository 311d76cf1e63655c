import { useSyncExternalStore, type ReactNode } from 'react';

const tickMs = 15_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** One shared clock for all relative times of the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Milliseconds since 1970, renewed every 15 s. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

const zonedParts = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
} as const;
const zonedWithYear = new Intl.DateTimeFormat(undefined, { ...zonedParts, year: 'numeric' });
const day = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
const formats = {
  zoned: [new Intl.DateTimeFormat(undefined, zonedParts), zonedWithYear],
  exact: [
    new Intl.DateTimeFormat(undefined, { ...zonedParts, second: '2-digit' }),
    new Intl.DateTimeFormat(undefined, { ...zonedParts, second: '2-digit', year: 'numeric' }),
  ],
  day: [day, day],
} as const;

interface TimeProps {
  /** ISO 8601 or milliseconds since 1970. */
  readonly at: string | number;
  /**
   * `relative`: 3 min ago, in 2 h, followed by date and time with the zone, which stand alone after one day.
   * `due`: the same, and "due now" for what has passed. `zoned`: date and time with the zone. `exact`: with
   * seconds. `day`: the date alone.
   */
  readonly as?: 'relative' | 'due' | 'zoned' | 'exact' | 'day';
}

/** A time in the viewer's zone; its title shows date, zone and UTC. */
export function Time({ at, as = 'relative' }: TimeProps): ReactNode {
  const current = useNow();
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>unknown</span>;
  const isRelative = as === 'relative' || as === 'due';
  const relative = isRelative ? formatRelative(date.getTime() - current, as === 'due') : undefined;
  const utc = `${date
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '')} UTC`;
  return (
    <time dateTime={date.toISOString()} title={`${zonedWithYear.format(date)} · ${utc}`}>
      {relative ?? formatTime(date, isRelative ? 'zoned' : as, current)}
      {relative !== undefined && <span className="time-at">{formatTime(date, 'zoned', current)}</span>}
    </time>
  );
}

/** Without the year in this one. */
function formatTime(date: Date, as: keyof typeof formats, current: number): string {
  const isThisYear = date.getFullYear() === new Date(current).getFullYear();
  return formats[as][isThisYear ? 0 : 1].format(date);
}

/** Times within one day, as text. */
function formatRelative(distanceMs: number, isDue: boolean): string | undefined {
  if (isDue && distanceMs <= 0) return 'due now';
  const size = Math.abs(distanceMs);
  if (size >= dayMs) return undefined;
  if (size < tickMs) return 'now';
  const text = formatDuration(size);
  return distanceMs > 0 ? `in ${text}` : `${text} ago`;
}

/** 850 ms, 12 s, 3 min, 2 h, 5 days: one unit, rounded down. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < minuteMs) return `${Math.floor(ms / 1000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} days`;
}

const numbers = new Intl.NumberFormat('en-US');

/** 12,345 */
export function formatNumber(value: number): string {
  return numbers.format(value);
}

/** 812 B, 4.1 kB, 2.0 MB, 7.5 GB */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** An ISO time as a `DateField` takes it, to the minute; empty if it is no time. */
export function toLocal(utc = ''): string {
  const time = new Date(utc);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * minuteMs).toISOString().slice(0, 16);
}
