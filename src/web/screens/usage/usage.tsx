/**
 * The screen of usage: what was sent, by month, organization, client and domain.
 * Used by `web/app/screens.tsx`.
 * Begin with this file.
 */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type { Usage, UsageRow } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { Chart } from '../../components/chart.tsx';
import { Command } from '../../components/command.tsx';
import { Table, type Column } from '../../components/data-table.tsx';
import { ExportCsv, wholeList, type CsvColumn } from '../../components/export-csv.tsx';
import { FilterSelect, type Option } from '../../components/fields.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Tiles } from '../../components/tiles.tsx';
import { formatBytes, formatNumber, Time } from '../../components/time.tsx';

const periods: readonly Option[] = [
  ['12', 'last 12 months'],
  ['this', 'this month'],
  ['last', 'last month'],
  ['36', 'last 36 months'],
];
const groups: readonly Option[] = [
  ['month', 'by month'],
  ['organization', 'by organization'],
  ['client', 'by client'],
  ['domain', 'by domain'],
  ['all', 'by month, client and domain'],
  ['day', 'by day'],
];

/** The month so many before this one, in UTC, as days and months are counted. */
function monthBefore(months: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months)).toISOString().slice(0, 7);
}

function monthsOf(period: string): { readonly from: string; readonly to: string } {
  if (period === 'last') return { from: monthBefore(1), to: monthBefore(1) };
  if (period === 'this') return { from: monthBefore(0), to: monthBefore(0) };
  return { from: monthBefore(period === '36' ? 35 : 11), to: monthBefore(0) };
}

function useUsage(query: Readonly<Record<string, string>>): UseQueryResult<Usage, ApiError> {
  return useQuery<Usage, ApiError>({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => get<Usage>('/usage', query, signal),
    placeholderData: (before) => before,
    refetchInterval: 60_000,
  });
}

/** What was sent: a chart, totals, and rows by month, day, client or domain. */
export function UsageScreen(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const pick = (name: string, options: readonly Option[]): string =>
    options.find(([value]) => value === parameters.get(name))?.[0] ?? options[0]?.[0] ?? '';
  const period = pick('period', periods);
  const by = pick('by', groups);
  const of = {
    organization: parameters.get('organization') ?? '',
    client: parameters.get('client') ?? '',
    domain: parameters.get('domain') ?? '',
  };
  const change = (name: string, value: string): void =>
    setParameters((before) => new URLSearchParams({ ...Object.fromEntries(before), [name]: value }), {
      replace: true,
    });
  const months = monthsOf(period);
  const filters = Object.fromEntries(Object.entries(of).filter(([, value]) => value !== ''));
  const isOneMonth = months.from === months.to;
  const rows = useUsage({ ...months, ...filters, by });
  const line = useUsage({ ...months, ...filters, by: isOneMonth ? 'day' : 'month' });
  const result = rows.data?.result ?? [];
  return (
    <Screen
      title="Usage"
      lead="What clients sent, in months and days of UTC."
      actions={
        <ExportCsv
          file={`usage-${months.from}-${months.to}`}
          columns={csvColumns}
          readPage={wholeList(() => get<Usage>('/usage', { ...months, ...filters, by }))}
        />
      }
    >
      <div className="filters">
        <FilterSelect
          label="Period"
          value={period}
          options={periods}
          onValue={(value) => change('period', value)}
        />
        <FilterSelect label="Rows" value={by} options={groups} onValue={(value) => change('by', value)} />
        {Object.entries(filters).map(([name, value]) => (
          <button key={name} type="button" onClick={() => change(name, '')}>
            {name} {value}: show all
          </button>
        ))}
      </div>
      {rows.data === undefined && rows.error === null && <LoadingState />}
      {rows.error !== null && <ErrorState error={rows.error} onRetry={() => void rows.refetch()} />}
      {line.data !== undefined && line.data.result.length > 0 && (
        <Totals rows={line.data.result} {...months} isOneMonth={isOneMonth} />
      )}
      {rows.data !== undefined && (
        <Section
          title="Rows"
          note={
            rows.data.countedAt === null ? (
              'counted each minute'
            ) : (
              <>
                counted <Time at={rows.data.countedAt} />
              </>
            )
          }
        >
          {result.length === 0 ? (
            <EmptyState
              title={rows.data.countedAt === null ? 'Not counted yet' : 'Nothing was sent in this period'}
            />
          ) : (
            <Table
              caption="Usage"
              columns={columnsFor(by)}
              rows={result}
              idOf={(row) => [row.month, row.day, row.organization, row.clientId, row.domain].join(' ')}
            />
          )}
          {rows.data.isCut && <p className="muted">There are more rows: choose a shorter period.</p>}
          <Command
            words={[
              'usage',
              '--from',
              months.from,
              '--to',
              months.to,
              '--by',
              ...(by === 'all' ? ['month', 'client', 'domain'] : [by]),
              ...Object.entries(filters).flatMap(([name, value]) => [`--${name}`, value]),
            ]}
          />
        </Section>
      )}
    </Screen>
  );
}

const tile = { tone: 'none', href: '/messages' } as const;
const formatCount = (value: number | null): string => (value === null ? '–' : formatNumber(value));

/** All months, or days of the one month, that are not in the future: those without a message are zero. */
function pointsOf(from: string, to: string, isOneMonth: boolean): readonly string[] {
  const points: string[] = [];
  const date = new Date(`${from}-01`);
  const today = new Date().toISOString().slice(0, 10);
  for (;;) {
    const day = date.toISOString().slice(0, 10);
    if (day.slice(0, 7) > to || day > today) return points;
    points.push(isOneMonth ? day : day.slice(0, 7));
    if (isOneMonth) date.setUTCDate(date.getUTCDate() + 1);
    else date.setUTCMonth(date.getUTCMonth() + 1);
  }
}

function Totals({
  rows,
  from,
  to,
  isOneMonth,
}: {
  readonly rows: readonly UsageRow[];
  readonly from: string;
  readonly to: string;
  readonly isOneMonth: boolean;
}): ReactNode {
  const points = useMemo(() => pointsOf(from, to, isOneMonth), [from, to, isOneMonth]);
  const times = useMemo(() => points.map((point) => Date.parse(point) / 1000), [points]);
  const courseOf = (name: 'messages' | 'failed'): readonly number[] => {
    const values = new Map(rows.map((row) => [isOneMonth ? row.day : row.month, row[name]]));
    return points.map((point) => values.get(point) ?? 0);
  };
  const sum = (name: 'messages' | 'recipients' | 'octets' | 'delivered' | 'failed'): number =>
    rows.reduce((total, row) => total + row[name], 0);
  const recipients = sum('recipients');
  const share = (count: number): string =>
    recipients === 0 ? '' : `${((100 * count) / recipients).toFixed(1)} % of recipients`;
  return (
    <>
      <Tiles
        tiles={[
          {
            name: 'Messages',
            value: formatNumber(sum('messages')),
            note: formatBytes(sum('octets')),
            ...tile,
          },
          { name: 'Recipients', value: formatNumber(recipients), note: 'of all messages', ...tile },
          {
            name: 'Delivered',
            value: formatNumber(sum('delivered')),
            note: share(sum('delivered')),
            ...tile,
          },
          { name: 'Failed', value: formatNumber(sum('failed')), note: share(sum('failed')), ...tile },
        ]}
      />
      {/* One point, on the first day of a month, is no course. */}
      {times.length > 1 && (
        <Chart
          title={isOneMonth ? 'Messages per day' : 'Messages per month'}
          times={times}
          isUtc
          format={formatCount}
          series={[
            { name: 'messages', color: 'accent', values: courseOf('messages') },
            { name: 'failed', color: 'failed', values: courseOf('failed') },
          ]}
        />
      )}
    </>
  );
}

const monthText = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'long', timeZone: 'UTC' });
const dayText = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

const named = {
  month: {
    name: 'Month',
    cell: ({ month }) => monthText.format(new Date(month)),
    sortBy: ({ month }) => month,
  },
  day: { name: 'Day', cell: ({ day }) => dayText.format(new Date(day)), sortBy: ({ day }) => day },
  organization: {
    name: 'Organization',
    isFlexible: true,
    cell: ({ organizationName, organization }) => organizationName || organization,
    sortBy: ({ organizationName, organization }) => (organizationName || organization).toLowerCase(),
  },
  client: {
    name: 'Client',
    isFlexible: true,
    cell: ({ clientName, clientId }) => clientName || clientId,
    sortBy: ({ clientName, clientId }) => (clientName || clientId).toLowerCase(),
  },
  domain: { name: 'Domain', isFlexible: true, cell: ({ domain }) => domain, sortBy: ({ domain }) => domain },
} as const satisfies Readonly<Record<string, Column<UsageRow>>>;

const figures: readonly Column<UsageRow>[] = (
  [
    ['Messages', 'messages', undefined],
    ['Recipients', 'recipients', undefined],
    ['Delivered', 'delivered', undefined],
    ['Failed', 'failed', undefined],
    ['Waiting', 'waiting', 'medium'],
  ] as const
).map(([name, field, from]) => ({
  name,
  align: 'end',
  ...(from && { from }),
  cell: (row) => formatNumber(row[field]),
  sortBy: (row) => row[field],
}));

const size: Column<UsageRow> = {
  name: 'Size',
  align: 'end',
  cell: ({ octets }) => formatBytes(octets),
  sortBy: ({ octets }) => octets,
};

function columnsFor(by: string): readonly Column<UsageRow>[] {
  const first =
    by === 'all'
      ? [named.month, named.client, named.domain]
      : [named[by as keyof typeof named] ?? named.month];
  return [...first, ...figures, size];
}

const csvColumns: readonly CsvColumn<UsageRow>[] = (
  [
    'month',
    'day',
    'organization',
    'organizationName',
    'clientId',
    'clientName',
    'domain',
    'messages',
    'recipients',
    'octets',
    'delivered',
    'failed',
    'waiting',
  ] as const
).map((name) => ({ name, value: (row) => row[name] }));
