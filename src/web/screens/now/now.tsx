import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Attention, Now, ReasonCount, Tile } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { useMay, useSession } from '../../api/session.ts';
import { Chart } from '../../components/chart.tsx';
import { FilterSelect } from '../../components/fields.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark, StateShape } from '../../components/states.tsx';
import { Tiles } from '../../components/tiles.tsx';
import { formatDuration, formatNumber, Time } from '../../components/time.tsx';

const hours = ['4', '1', '12', '24'] as const;
const [usualHours] = hours;

/** The current state: what needs attention, figures, and the last hours. */
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
  const { attention, tiles, failures, series } = now.data;
  return (
    <Screen
      title="Now"
      lead={
        tiles.find(({ id }) => id === 'queue')?.value === 0 && attention.length === 0
          ? 'Nothing is waiting.'
          : undefined
      }
    >
      <NeedsAttention attention={attention} />
      <Tiles tiles={tiles.map(tileOf)} />
      {series.times.length > 0 && (
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
      )}
      <Section title="Failures" note="Last 24 hours, by reason.">
        <Failures failures={failures} />
      </Section>
    </Screen>
  );
}

function NeedsAttention({ attention }: { readonly attention: readonly Attention[] }): ReactNode {
  const { hisp } = useSession();
  const mayRead = useMay('settings.read');
  return (
    <section className="attention" aria-labelledby="attention" aria-live="polite">
      <h2 id="attention">
        Needs attention{' '}
        <span className="count">{attention.length > 0 && formatNumber(attention.length)}</span>
      </h2>
      {hisp.domains.length === 0 && (
        <EmptyState title="No domain is hosted yet">
          <p>
            Nothing can be sent or received before that. Next: a domain, its key, whom it trusts, its
            addresses and a client. {mayRead && <Link href="/domains">Domains and trust</Link>}
          </p>
        </EmptyState>
      )}
      {attention.length === 0 && hisp.domains.length > 0 && (
        <p>
          <StateMark tone="ok">Nothing needs an operator.</StateMark>
        </p>
      )}
      {attention.length > 0 && (
        <ul>
          {attention.map(({ id, level, title, text, since, link }) => (
            <li key={id}>
              <StateShape tone={level} />
              <div>
                {link === '' ? (
                  title
                ) : (
                  <Link href={link} data-row="" className="row-link">
                    {title}
                  </Link>
                )}
                {text !== '' && <p className="muted small">{text}</p>}
              </div>
              <span className="attention-age">{since !== null && <Time at={since} />}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
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
