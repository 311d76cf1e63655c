import type { ReactNode } from 'react';
import { DateField } from './date-field.tsx';
import { FilterSelect, type Option } from './fields.tsx';
import { dayOf } from './read-date.ts';

/** A period as it stands in the URL of a page: a name, or days of the viewer's zone. */
export interface Range {
  readonly when: string;
  /** `YYYY-MM-DD`, first and last day; only with `days`. */
  readonly after: string;
  readonly before: string;
}

const hourMs = 3_600_000;
const options: readonly Option[] = [
  ['', 'any time'],
  ['hour', 'last hour'],
  ['today', 'today'],
  ['yesterday', 'yesterday'],
  ['week', 'last 7 days'],
  ['month', 'last 30 days'],
  ['days', 'days…'],
];

/** Local midnight, `days` away from that of the time. */
function midnight(at: Date, days = 0): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + days);
}

/** The period in UTC, for the API; it ends before `to`. */
export function periodOf(
  { when, after, before }: Range,
  now: Date,
): { readonly from?: string; readonly to?: string } {
  const since = (at: Date) => ({ from: at.toISOString() });
  switch (when) {
    case 'hour':
      return since(new Date(now.getTime() - hourMs));
    case 'today':
      return since(midnight(now));
    case 'yesterday':
      return { ...since(midnight(now, -1)), to: midnight(now).toISOString() };
    case 'week':
      return since(midnight(now, -7));
    case 'month':
      return since(midnight(now, -30));
    case 'days': {
      const [first, last] = [dayOf(after), dayOf(before)];
      return {
        ...(first !== undefined && since(midnight(first))),
        ...(last !== undefined && { to: midnight(last, 1).toISOString() }),
      };
    }
    default:
      return {};
  }
}

/** Chooses a period by name or by days. */
export function RangeControl({
  range,
  onRange,
}: {
  readonly range: Range;
  readonly onRange: (change: Partial<Range>) => void;
}): ReactNode {
  return (
    <>
      <FilterSelect
        label="When"
        value={range.when}
        options={options}
        onValue={(when) => onRange(when === 'days' ? { when } : { when, after: '', before: '' })}
      />
      {range.when === 'days' && (
        <span className="range-days">
          <DateField
            aria-label="First day"
            value={range.after}
            max={range.before}
            onValue={(after) => onRange({ after })}
          />
          <span className="muted">to</span>
          <DateField
            aria-label="Last day"
            value={range.before}
            min={range.after}
            onValue={(before) => onRange({ before })}
          />
        </span>
      )}
    </>
  );
}
