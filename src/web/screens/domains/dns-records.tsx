import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DnsRecord, DomainRecords } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { Copy } from '../../components/copy.tsx';
import { Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

/** The expected DNS records of a domain next to the published ones, each line to copy. */
export function DnsRecords({ path, domain }: { readonly path: string; readonly domain: string }): ReactNode {
  const records = useQuery<DomainRecords, ApiError>({
    queryKey: ['domain-records', domain],
    queryFn: ({ signal }) => get(`${path}/records`, {}, signal),
    staleTime: 60_000,
    retry: false,
  });
  const shown = records.data;
  return (
    <Section
      title="DNS records"
      note={shown === undefined ? 'querying the DNS' : <Time at={shown.checkedAt} />}
      actions={
        <>
          {shown !== undefined && shown.records.length > 0 && (
            <Copy text={shown.records.map(({ line }) => line).join('\n')} label="Copy all" />
          )}
          <button type="button" disabled={records.isFetching} onClick={() => void records.refetch()}>
            {records.isFetching ? 'Querying' : 'Query again'}
          </button>
        </>
      }
    >
      {records.error !== null && <ErrorState error={records.error} />}
      {records.error === null && shown === undefined && <LoadingState lines={4} />}
      {shown?.records.length === 0 && <EmptyState title="No records to publish" />}
      {shown !== undefined && shown.records.length > 0 && (
        <ul className="dns-records">
          {shown.records.map((record) => (
            <Entry key={record.line} record={record} />
          ))}
        </ul>
      )}
      {shown?.notes.map((note) => (
        <p key={note} className="muted dns-note">
          {note}
        </p>
      ))}
    </Section>
  );
}

function Entry({ record }: { readonly record: DnsRecord }): ReactNode {
  const isOk = record.state === 'ok';
  return (
    <li className="dns-record">
      <div className="dns-head">
        <span className="dns-type">{record.type}</span>
        <span className="dns-name">{record.name}</span>
        <StateMark tone={record.level}>{record.text}</StateMark>
        <Copy text={record.line} label={`Copy the ${record.type} record of ${record.name}`} isIcon />
      </div>
      <dl className="dns-sides">
        <div>
          <dt>Expected</dt>
          <dd>
            <Data value={record.expected} />
          </dd>
        </div>
        {!isOk && (
          <div>
            <dt>Actual</dt>
            <dd>
              {record.actual === null && <span className="faint">not known: the DNS gave no answer</span>}
              {record.actual?.length === 0 && <span className="faint">no such record</span>}
              {record.actual?.map((value) => (
                <Data key={value} value={value} />
              ))}
            </dd>
          </div>
        )}
      </dl>
    </li>
  );
}

/** Characters shown of a record's data; a certificate has thousands. */
const shownCharacters = 88;

function Data({ value }: { readonly value: string }): ReactNode {
  if (value.length <= shownCharacters) return <code className="dns-data">{value}</code>;
  return (
    <details className="dns-data">
      <summary>
        <code>{value.slice(0, shownCharacters)}…</code>
      </summary>
      <code>{value}</code>
    </details>
  );
}
