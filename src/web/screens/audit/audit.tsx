import { useMutation } from '@tanstack/react-query';
import { useCallback, useMemo, useState, type FormEvent, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { AuditEntry, AuditPage, AuditVerification, Level } from '../../../app/console/contract/index.ts';
import { type ApiError, apiUrl, ask, type get } from '../../api/client.ts';
import { usePagedRows } from '../../api/pages.ts';
import { useMay, useMayWhole } from '../../api/session.ts';
import { DataTable } from '../../components/data-table.tsx';
import { DateField } from '../../components/date-field.tsx';
import { Field, FilterSelect } from '../../components/fields.tsx';
import { periodOf, RangeControl } from '../../components/range-control.tsx';
import { Screen } from '../../components/screen.tsx';
import { EmptyState, ErrorState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time, toLocal, useNow } from '../../components/time.tsx';
import { labelOf } from '../directory/search-fields.ts';
import { messagePath, testerOf } from '../messages/message-path.ts';

const names = [
  'group',
  'actor',
  'message',
  'address',
  'action',
  'outcome',
  'requestId',
  'from',
  'to',
  'when',
  'after',
  'before',
] as const;
const tickMs = 60_000;
type Filters = Readonly<Partial<Record<(typeof names)[number], string>>>;

/** The audit trail: search, verification of the chain, and export. */
export function AuditScreen(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const filters = useMemo<Filters>(
    () =>
      Object.fromEntries(
        names.flatMap((name) => {
          const value = parameters.get(name)?.trim() ?? '';
          return value === '' ? [] : [[name, value]];
        }),
      ),
    [parameters],
  );
  // A period that ended with each second would be another search each time.
  const tick = Math.floor(useNow() / tickMs) * tickMs;
  const query = useMemo(() => queryOf(filters, tick), [filters, tick]);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal: AbortSignal, read: typeof get) =>
      read<AuditPage>('/audit', { ...query, cursor, limit: 50 }, signal),
    [query],
  );
  const page = usePagedRows<AuditEntry>({ queryKey: ['audit', query], fetchPage, idOf });
  const mayExport = useMay('audit.export');
  // The chain is of the whole HISP.
  const mayVerify = useMayWhole('audit.read');
  const verify = useMutation<AuditVerification, ApiError>({
    mutationFn: () => ask<AuditVerification>('/audit/verify'),
  });
  const show = useCallback(
    (change: Filters) => setParameters(new URLSearchParams({ ...filters, ...change })),
    [filters, setParameters],
  );
  return (
    <Screen
      title="Audit"
      lead="Who did what, when, and to what. Rows contain identifiers, never message content."
      actions={
        <>
          {mayVerify && (
            <button type="button" disabled={verify.isPending} onClick={() => verify.mutate()}>
              {verify.isPending ? 'Verifying' : 'Verify the chain'}
            </button>
          )}
          {mayExport && (
            <>
              <a
                className="button"
                href={apiUrl('/audit/export', { ...query, format: 'csv' })}
                download="audit.csv"
              >
                Save as CSV
              </a>
              <a className="button" href={apiUrl('/audit/export', query)} download="audit.ndjson">
                Export
              </a>
            </>
          )}
        </>
      }
    >
      <div role="status" aria-live="polite">
        {verify.error !== null && <ErrorState error={verify.error} />}
        {verify.data !== undefined && <Verdict verdict={verify.data} />}
      </div>
      <div className="filters">
        <RangeControl
          range={{ when: filters.when ?? '', after: filters.after ?? '', before: filters.before ?? '' }}
          onRange={(range) =>
            setParameters(new URLSearchParams(withoutEmpty({ ...filters, from: '', to: '', ...range })))
          }
        />
        {selects.map(([name, label, options]) => (
          <FilterSelect
            key={name}
            label={label}
            value={filters[name] ?? ''}
            options={options}
            onValue={(value) =>
              setParameters(new URLSearchParams(withoutEmpty({ ...filters, [name]: value })))
            }
          />
        ))}
      </div>
      <FilterForm
        key={JSON.stringify({ ...filters, when: '', after: '', before: '', group: '', outcome: '' })}
        filters={filters}
        onFilter={(next) => setParameters(new URLSearchParams(next))}
      />
      <div className="audit-list">
        <DataTable
          caption="Audit rows"
          isLines
          page={page}
          noun={['row', 'rows']}
          isFiltered={Object.keys(filters).length > 0}
          idOf={idOf}
          empty={
            <EmptyState title="No matching row">
              <p>All filters must match. Clear a filter, or choose a longer period.</p>
            </EmptyState>
          }
          columns={[
            { name: 'Time', cell: ({ at }) => <Time at={at} as="zoned" /> },
            {
              name: 'What happened',
              isPlain: true,
              cell: (entry) => (
                <>
                  <StateMark tone={tones[entry.outcome]}>
                    {entry.text}
                    {entry.outcome !== 'ok' && ` (${entry.outcome})`}
                  </StateMark>{' '}
                  <span className="sub mono">{entry.action}</span>
                </>
              ),
            },
            {
              name: 'Actor',
              cell: ({ actor }) =>
                actor === '' ? (
                  <span className="faint">unknown</span>
                ) : (
                  <button type="button" className="link" title={actor} onClick={() => show({ actor })}>
                    {actor.startsWith('hisp-') ? `${actor.slice(0, 11)}…` : (testerOf(actor) ?? actor)}
                  </button>
                ),
            },
            { name: 'About', cell: (entry) => <Objects entry={entry} onFilter={show} />, isFlexible: true },
            {
              name: 'From',
              from: 'wide',
              cell: ({ channel, login, isClaimed, remoteAddress }) => (
                <span className="faint">
                  {[channel, login, remoteAddress].filter((one) => one !== '').join(' ')}
                  {isClaimed && ', name claimed'}
                </span>
              ),
            },
            {
              name: 'Row',
              align: 'end',
              from: 'medium',
              cell: ({ sequence }) => <span className="faint">{formatNumber(sequence)}</span>,
            },
          ]}
        />
      </div>
    </Screen>
  );
}

const selects = [
  [
    'group',
    'Rows',
    [
      ['', 'everything'],
      ['changes', 'changes only'],
      ['access', 'access'],
      ['delivery', 'delivery'],
    ],
  ],
  [
    'outcome',
    'Outcome',
    [
      ['', 'any'],
      ['ok', 'ok'],
      ['refused', 'refused'],
      ['failed', 'failed'],
    ],
  ],
] as const;

const tones: Readonly<Record<AuditEntry['outcome'], Level>> = {
  ok: 'none',
  refused: 'warning',
  failed: 'failed',
};

function idOf({ sequence }: AuditEntry): string {
  return String(sequence);
}

/**
 * Times of the form are in the viewer's zone. In the address of the page and in the API they are in UTC: a
 * link means the same period to everybody.
 */
function toUtc(filters: Filters): Filters {
  const times = (['from', 'to'] as const).flatMap((name) => {
    const time = new Date(filters[name] ?? '');
    return Number.isNaN(time.getTime()) ? [] : [[name, time.toISOString()] as const];
  });
  // Other text stays, so that the API refuses it by name.
  return { ...filters, ...Object.fromEntries(times) };
}

/** Days are of the viewer's zone; exact times come before them. */
function queryOf(
  { when = '', after = '', before = '', ...filters }: Filters,
  atMs: number,
): Readonly<Record<string, string>> {
  return { ...periodOf({ when, after, before }, new Date(atMs)), ...toUtc(filters) };
}

function Verdict({ verdict }: { readonly verdict: AuditVerification }): ReactNode {
  return (
    <div className="audit-verdict">
      <p>
        <StateMark tone={verdict.isIntact ? 'ok' : 'failed'}>{verdict.sentence}</StateMark>
      </p>
      <p className="faint">
        {formatNumber(verdict.events)} rows in {verdict.seconds.toFixed(1)} s
        {verdict.firstSequence !== null &&
          verdict.lastSequence !== null &&
          `, from ${formatNumber(verdict.firstSequence)} to ${formatNumber(verdict.lastSequence)}`}
      </p>
      {verdict.brokenAt !== null && (
        <p>
          It is broken at row <b>{formatNumber(verdict.brokenAt)}</b>. Keep the database as it is, and compare
          it with the exported checkpoints: <code>openhisp audit verify</code>.
        </p>
      )}
    </div>
  );
}

function withoutEmpty(filters: Readonly<Record<string, string | undefined>>): Filters {
  return Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value !== undefined && value !== ''),
  );
}

function FilterForm({
  filters,
  onFilter,
}: {
  readonly filters: Filters;
  onFilter(filters: Filters): void;
}): ReactNode {
  const [isOpen, setOpen] = useState(
    (['action', 'requestId', 'from', 'to'] as const).some((name) => filters[name] !== undefined),
  );
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const { when, after, before, group, outcome } = filters;
    const typed = Object.fromEntries(
      [...new FormData(event.currentTarget)].flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value.trim()]] : [],
      ),
    );
    // The exact times of the form, if there are some, come before the period.
    const range = typed['from'] || typed['to'] ? {} : { when, after, before };
    onFilter(withoutEmpty({ ...toUtc(typed), ...range, group, outcome }));
  }
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <form className="audit-form" role="search" aria-label="Audit" onSubmit={submit}>
      <label className="field is-wide">
        <span>Actor</span>
        <input
          type="text"
          name="actor"
          data-search=""
          spellCheck={false}
          placeholder="operator or client id"
          defaultValue={filters.actor ?? ''}
        />
      </label>
      <label className="field is-wide">
        <span>Message</span>
        <input
          type="text"
          name="message"
          spellCheck={false}
          placeholder="message id or wire id"
          defaultValue={filters.message ?? ''}
        />
      </label>
      <label className="field is-wide">
        <span>Address</span>
        <input
          type="text"
          name="address"
          spellCheck={false}
          placeholder="name@domain"
          defaultValue={filters.address ?? ''}
        />
      </label>
      {isOpen && (
        <>
          <Field label="From">
            {(tie) => <DateField {...tie} withTime name="from" value={toLocal(filters.from)} />}
          </Field>
          <Field label="To">
            {(tie) => <DateField {...tie} withTime name="to" value={toLocal(filters.to)} />}
          </Field>
          <label className="field">
            <span>Action</span>
            <input
              type="text"
              name="action"
              spellCheck={false}
              placeholder="message.show"
              defaultValue={filters.action ?? ''}
            />
          </label>
          <label className="field">
            <span>Request id</span>
            <input type="text" name="requestId" spellCheck={false} defaultValue={filters.requestId ?? ''} />
          </label>
        </>
      )}
      <span className="audit-buttons">
        {!isOpen && (
          <button type="button" className="link" onClick={() => setOpen(true)}>
            More filters
          </button>
        )}
        {isFiltered && (
          <button type="button" onClick={() => onFilter({})}>
            Clear
          </button>
        )}
        <button type="submit" className="primary">
          Search
        </button>
      </span>
    </form>
  );
}

/** `Message-ID` with its angle brackets. */
const wireId = /^<[^<>\s]+@[^<>\s]+>$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The objects of a row; ids are shortened, messages and clients are links, addresses set the filter. */
function Objects({
  entry,
  onFilter,
}: {
  readonly entry: AuditEntry;
  onFilter(filters: Filters): void;
}): ReactNode {
  return (
    <ul className="audit-objects on-demand">
      {Object.entries(entry.objects)
        .filter(([, value]) => value !== '')
        .map(([name, value]) => (
          <li key={name}>
            <span className="faint">{wordsOf(name)}</span>{' '}
            <ObjectValue value={String(value)} messageName={nameOf(entry)} onFilter={onFilter} />
          </li>
        ))}
      {entry.requestId !== '' && (
        <li>
          <span className="faint">request</span>{' '}
          <button type="button" className="link" onClick={() => onFilter({ requestId: entry.requestId })}>
            {entry.requestId.slice(0, 8)}
          </button>
        </li>
      )}
    </ul>
  );
}

/** The name of a fact as it is said: `clientId` is the client, `org_zip` the field of the directory. */
const wordsOf = (name: string): string =>
  labelOf(name)
    .replaceAll(/([a-z])([A-Z])|_/g, '$1 $2')
    .toLowerCase()
    .replace(/(?<=.) id$/, '');

/** Of the one message of a row, whose Message-ID others may have. */
const nameOf = ({ action, objects }: AuditEntry): string | undefined =>
  action.startsWith('message.') && objects['deliveryId'] !== undefined
    ? String(objects['deliveryId'])
    : undefined;

function ObjectValue({
  value,
  messageName,
  onFilter,
}: {
  readonly value: string;
  readonly messageName: string | undefined;
  onFilter(filters: Filters): void;
}): ReactNode {
  if (value.startsWith('urn:uuid:') || wireId.test(value))
    return (
      <Link href={messagePath(messageName ?? value)} title={value}>
        {value.replace(/^(?:urn:uuid:|<)/, '').slice(0, 8)}…
      </Link>
    );
  if (value.startsWith('hisp-'))
    return (
      <Link href={`/clients/${encodeURIComponent(value)}`} title={value}>
        {value.slice(0, 11)}…
      </Link>
    );
  if (uuid.test(value)) return <span title={value}>{value.slice(0, 8)}…</span>;
  if (/^[0-9a-f]{16}$/.test(value)) return <span title={`keyed hash ${value}`}>hidden</span>;
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return <Time at={value} as="zoned" />;
  if (value === 'true' || value === 'false') return value === 'true' ? 'yes' : 'no';
  if (/^[^@\s<>]+@[^@\s<>]+$/.test(value))
    return (
      <button type="button" className="link" onClick={() => onFilter({ address: value })}>
        {value}
      </button>
    );
  return value;
}
