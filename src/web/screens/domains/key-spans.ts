/** A key pair with the dates of its certificate. */
export interface KeySpan {
  readonly id: string;
  readonly owner: string;
  readonly uses: readonly string[];
  readonly status: 'active' | 'retired';
  /** ISO 8601. */
  readonly notBefore: string;
  readonly notAfter: string;
}

export type SpanState = 'ok' | 'warning' | 'failed' | 'retired';

const dayMs = 86_400_000;
const yearMs = 365.25 * dayMs;

/** As in `openhisp doctor` and the metrics. */
const warningDays = 30;

export function describeSpan(
  key: KeySpan,
  now: Date,
): { readonly state: SpanState; readonly text: string; readonly daysLeft: number } {
  const leftMs = Date.parse(key.notAfter) - now.getTime();
  const daysLeft = Math.floor(leftMs / dayMs);
  if (key.status === 'retired') return { state: 'retired', text: 'retired, still decrypts', daysLeft };
  if (Date.parse(key.notBefore) > now.getTime()) return { state: 'warning', text: 'not yet valid', daysLeft };
  if (leftMs < 0)
    return { state: 'failed', text: `expired ${formatDays(Math.floor(-leftMs / dayMs))} ago`, daysLeft };
  return {
    state: daysLeft <= warningDays ? 'warning' : 'ok',
    text: `${formatDays(daysLeft)} left`,
    daysLeft,
  };
}

export function formatDays(days: number): string {
  if (days < 1) return 'less than a day';
  if (days === 1) return '1 day';
  if (days < 100) return `${days} days`;
  if (days < 730) return `${Math.round(days / 30.44)} months`;
  return `${(days / 365.25).toFixed(1).replace(/\.0$/, '')} years`;
}

interface TimeScale {
  /** Percent of the width for a date; dates outside are drawn at the edge. */
  place(iso: string): number;
  readonly today: number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

/** From the earliest start to the latest end, at most two years back and five years ahead. */
export function makeScale(keys: readonly KeySpan[], now: Date): TimeScale {
  const today = now.getTime();
  const starts = keys.map((key) => Date.parse(key.notBefore));
  const ends = keys.map((key) => Date.parse(key.notAfter));
  const from = Math.max(Math.min(...starts, today - 60 * dayMs), today - 2 * yearMs);
  const to = Math.min(Math.max(...ends, today + 90 * dayMs), today + 5 * yearMs);
  const percent = (ms: number): number => Math.min(100, Math.max(0, ((ms - from) / (to - from)) * 100));
  return {
    place: (iso) => percent(Date.parse(iso)),
    today: percent(today),
    ticks: listTicks(from, to).map((tick) => ({ at: percent(tick.at), text: tick.text })),
  };
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Years, or quarters where there is room for them; in UTC, as in certificates. */
function listTicks(from: number, to: number): readonly { at: number; text: string }[] {
  const step = to - from > 2.2 * yearMs ? 12 : to - from > 0.8 * yearMs ? 3 : 1;
  const ticks: { at: number; text: string }[] = [];
  for (let month = new Date(from).getUTCFullYear() * 12; ; month += step) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (at > to) return ticks;
    if (at >= from)
      ticks.push({
        at,
        text: month % 12 === 0 ? String(month / 12) : (monthNames[month % 12] ?? ''),
      });
  }
}
