import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Now, ReasonCount, Tile } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { Chart } from '../../components/chart.tsx';
import { FilterSelect } from '../../components/fields.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateShape } from '../../components/states.tsx';
import { Tiles } from '../../components/tiles.tsx';
import { formatDuration, formatNumber } from '../../components/time.tsx';

const hours = ['4', '1', '12', '24'] as const;
const [usualHours] = hours;

/** The current state: a summary, its figures, and the last hours. */
export function NowScreen(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const shownHours = hours.find((value) => value === parameters.get('hours')) ?? usualHours;
  const now = useQuery<Now, ApiError>({
    queryKey: ['now', shownHours],
    queryFn: ({ signal }) => get<Now>('/now', { hours: shownHours }, signal),
    placeholderData: (before) => before,
    refetchInterval: 30_000,
  });
  if (now.data === undefined) {
    return (
      <Screen title="Now">
        {now.error === null ? (
          <LoadingState lines={9} />
        ) : (
          <ErrorState error={now.error} onRetry={() => void now.refetch()} />
        )}
      </Screen>
    );
  }
  const { sentence, level, tiles, failures, series } = now.data;
  return (
    <Screen
      title="Now"
      heading={
        <span className="now-sentence" aria-live="polite">
          <StateShape tone={level} /> <span>{sentence}</span>
        </span>
      }
    >
      <Tiles tiles={tiles.map(tileOf)} />
      <Section
        title="Last hours"
        actions={
          <FilterSelect
            label="Show"
            value={shownHours}
            onValue={(value) => setParameters({ hours: value }, { replace: true })}
            options={hours.map((value) => [value, value === '1' ? '1 hour' : `${value} hours`])}
          />
        }
      >
        <Charts series={series} />
      </Section>
      <Section title="Failures" note="Last 24 hours, by reason.">
        <Failures failures={failures} />
      </Section>
    </Screen>
  );
}

function tileOf({
  title,
  value,
  unit,
  level,
  text,
  link,
}: Tile): Parameters<typeof Tiles>[0]['tiles'][number] {
  return {
    name: title,
    value:
      value === null ? (
        <span className="faint">–</span>
      ) : (
        <>
          {formatNumber(value)} <small>{unit}</small>
        </>
      ),
    note: text,
    tone: level,
    href: link,
  };
}

const formatCount = (value: number | null): string => (value === null ? '–' : formatNumber(value));
const formatSeconds = (value: number | null): string =>
  value === null ? '–' : value < 10 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`;

function Charts({ series }: { readonly series: Now['series'] }): ReactNode {
  const { stepSeconds, times, accepted, processed, failed, p99Seconds } = series;
  const seconds = useMemo(() => times.map((time) => Date.parse(time) / 1000), [times]);
  return (
    <div className="charts">
      <Chart
        title={`Messages per ${formatDuration(1000 * stepSeconds)}`}
        times={seconds}
        format={formatCount}
        series={[
          { name: 'accepted', color: 'muted', values: accepted },
          { name: 'processed', color: 'accent', values: processed },
          { name: 'failed', color: 'failed', values: failed },
        ]}
      />
      <Chart
        title="Accepted to processed, p99"
        times={seconds}
        format={formatSeconds}
        series={[{ name: 'p99', color: 'accent', values: p99Seconds }]}
      />
    </div>
  );
}

function Failures({ failures }: { readonly failures: readonly ReasonCount[] }): ReactNode {
  if (failures.length === 0) return <EmptyState title="No message failed in the last 24 hours" />;
  return (
    <ul className="reasons">
      {failures.map(({ reason, count, text, whatToDo, link }) => (
        <li key={reason}>
          <span className="reason-count">{formatNumber(count)}</span>
          <div>
            <Link href={link} data-row="">
              {text}
            </Link>
            <p className="muted small">{whatToDo}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}
