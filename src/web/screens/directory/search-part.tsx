import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useState, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { DirectoryForm, Provider, ProviderPage } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';
import { ResultsTable } from './results-table.tsx';
import { describeSearch, nameOf, pageSize, placeOf, readSearch, type Search } from './search-fields.ts';
import { SearchForm } from './search-form.tsx';
import { WaitingMap } from './waiting-map.tsx';

const UsMap = lazy(async () => ({ default: (await import('./us-map.tsx')).UsMap }));

const examples: readonly { readonly text: string; readonly query: string }[] = [
  {
    text: 'Cardiology within 25 miles of 60601',
    query: 'prov_spec_text=cardio&org_zip=60601&radius=25',
  },
  { text: 'Everyone named Smith', query: 'prov_last_name=smith' },
  { text: 'Illinois, by city', query: 'org_state=IL&sort_by=org_city' },
];

/** The search with every filter and sort. It runs on request only, because each search is audited. */
export function SearchPart(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const search = useMemo(() => readSearch(parameters), [parameters]);
  const form = useQuery<DirectoryForm, ApiError>({
    queryKey: ['directory-form'],
    queryFn: ({ signal }) => get('/directory/form', {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isAsked = Object.keys(search).length > 0;
  const found = useQuery<ProviderPage, ApiError>({
    queryKey: ['directory-search', search],
    queryFn: ({ signal }) => get('/directory/search', { limit: String(pageSize), ...search }, signal),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
  // That the search before has found nothing says nothing about this one.
  const shown = found.isPlaceholderData && found.data?.totalCount === 0 ? undefined : found.data;
  const run = useCallback((next: Search) => setParameters(new URLSearchParams(next)), [setParameters]);
  if (form.data === undefined)
    return form.error === null ? (
      <LoadingState />
    ) : (
      <ErrorState error={form.error} onRetry={() => void form.refetch()} />
    );
  return (
    <>
      <SearchForm
        key={parameters.toString()}
        form={form.data}
        search={search}
        problems={found.error?.problems ?? []}
        onSearch={run}
      />
      <div aria-live="polite" aria-busy={found.isFetching}>
        {!isAsked && <Start />}
        {isAsked && found.error !== null && (
          <ErrorState error={found.error} onRetry={() => void found.refetch()} />
        )}
        {isAsked && found.error === null && shown === undefined && <LoadingState />}
      </div>
      {isAsked && found.error === null && shown !== undefined && (
        <Results
          page={shown}
          isOld={found.isPlaceholderData}
          search={search}
          form={form.data}
          onSearch={run}
        />
      )}
    </>
  );
}

function Start(): ReactNode {
  return (
    <EmptyState title="Search the directory">
      <p>Fill in any of the fields; all that is given must fit. Or begin with one of these:</p>
      <ul className="directory-examples">
        {examples.map(({ text, query }) => (
          <li key={query}>
            <Link href={`/directory?${query}`}>{text}</Link>
          </li>
        ))}
      </ul>
    </EmptyState>
  );
}

interface ResultsProps {
  readonly page: ProviderPage;
  /** The page is of the search before, while this one is on its way. */
  readonly isOld: boolean;
  readonly search: Search;
  readonly form: DirectoryForm;
  onSearch(search: Search): void;
}

function Results({ page, isOld, search, form, onSearch }: ResultsProps): ReactNode {
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [place, setPlace] = useState<readonly number[]>();
  const shown = useMemo(
    () => (place === undefined ? page.providers : page.providers.filter(({ id }) => place.includes(id))),
    [page, place],
  );
  const points = useMemo(() => page.providers.flatMap(toPoint), [page]);
  const circle = useMemo(
    () =>
      page.center === null
        ? undefined
        : { center: { lat: page.center.lat, lng: page.center.lng }, miles: page.center.radiusMiles },
    [page],
  );
  const showPlace = useCallback((ids: readonly number[]) => {
    setPlace(ids);
    setSelected(new Set(ids));
  }, []);
  if (page.totalCount === 0)
    return (
      <EmptyState title="No matching record">
        <p>
          The directory has no record for {describeSearch(search)}. Names and cities match by prefix: shorten
          them, or clear a field.
        </p>
      </EmptyState>
    );
  const summary = summarize(page.providers, points.length);
  return (
    <section className="directory-results" aria-label="Results">
      <p className="directory-count" role="status">
        {isOld && <span className="searching">Searching. Below are the results of the search before. </span>}
        <strong>{formatNumber(page.totalCount)}</strong> {page.totalCount === 1 ? 'record' : 'records'}
        {!isOld && describeSearch(search) !== '' && (
          <span className="faint"> · {describeSearch(search)}</span>
        )}
        <span className="faint"> · {formatNumber(page.tookMs)} ms</span>
      </p>
      <div className="directory-map">
        <Suspense fallback={<WaitingMap summary={summary} />}>
          <UsMap points={points} circle={circle} selected={selected} onSelect={showPlace} summary={summary} />
        </Suspense>
      </div>
      <div className="directory-list">
        {place !== undefined && (
          <p className="directory-place">
            {shown.length === 1 ? '1 record' : `${shown.length} records`} of this place.{' '}
            <button
              type="button"
              className="link"
              onClick={() => {
                setPlace(undefined);
                setSelected(new Set());
              }}
            >
              Show all
            </button>
          </p>
        )}
        <ResultsTable
          providers={shown}
          search={search}
          sortable={form.sortable}
          selected={selected}
          onPoint={(id) => setSelected(new Set(id === undefined ? (place ?? []) : [id]))}
          onSearch={onSearch}
        />
        <Pager page={page} search={search} onSearch={onSearch} />
      </div>
    </section>
  );
}

function Pager({ page, search, onSearch }: Omit<ResultsProps, 'form' | 'isOld'>): ReactNode {
  const { offset, limit, totalCount, providers } = page;
  if (totalCount <= limit && offset === 0) return null;
  const go = (to: number): void => {
    const { offset: _old, ...rest } = search;
    onSearch(to === 0 ? rest : { ...rest, offset: String(to) });
  };
  return (
    <nav className="directory-pager" aria-label="Pages">
      <button type="button" disabled={offset === 0} onClick={() => go(Math.max(0, offset - limit))}>
        Previous
      </button>
      <span>
        {formatNumber(offset + 1)}–{formatNumber(offset + providers.length)} of {formatNumber(totalCount)}
      </span>
      <button
        type="button"
        disabled={offset + providers.length >= totalCount}
        onClick={() => go(offset + limit)}
      >
        Next
      </button>
    </nav>
  );
}

function toPoint(provider: Provider) {
  const { id, lat, lng } = provider;
  if (lat === null || lng === null) return [];
  const distance = provider.distance === null ? '' : `, ${provider.distance} miles`;
  return [{ id, lat, lng, label: `${nameOf(provider)}, ${placeOf(provider)}${distance}` }];
}

/** The map as text: `50 records in 3 states: IL 40, IN 8, WI 2. 1 without a known place.` */
function summarize(providers: readonly Provider[], placed: number): string {
  const missing = providers.length - placed;
  const counts = new Map<string, number>();
  for (const { values } of providers) {
    const state = values['org_state'] || '?';
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const states = [...counts].toSorted(([, a], [, b]) => b - a);
  const named = states.slice(0, 6).map(([state, count]) => `${state} ${count}`);
  const more = states.length > named.length ? `, and ${states.length - named.length} more` : '';
  const words = `${placed === 1 ? '1 record' : `${placed} records`} of this page on the map: ${named.join(', ')}${more}.`;
  return missing === 0 ? words : `${words} ${missing} without a known place.`;
}
