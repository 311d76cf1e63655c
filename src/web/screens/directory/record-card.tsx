import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { DirectoryRecord } from '../../../app/console/contract/index.ts';
import { get, type ApiError } from '../../api/client.ts';
import { useMay, useSession } from '../../api/session.ts';
import { breakable } from '../../components/address.tsx';
import { CopyValue } from '../../components/copy.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { labelOf, nameOf, placeOf, specialtyOf } from './search-fields.ts';
import { WaitingMap } from './waiting-map.tsx';
import { verificationTone } from './verification.ts';

const UsMap = lazy(async () => ({ default: (await import('./us-map.tsx')).UsMap }));

const up = { name: 'Directory', href: '/directory' } as const;

/** One record: its served values with their sources, and actions for its address. */
export function RecordCard({ id }: { readonly id: string }): ReactNode {
  const record = useQuery<DirectoryRecord, ApiError>({
    queryKey: ['directory-record', id],
    queryFn: ({ signal }) => get(`/directory/records/${encodeURIComponent(id)}`, {}, signal),
    staleTime: 60_000,
    retry: false,
  });
  if (record.data === undefined)
    return (
      <Screen title="Record" up={up}>
        {record.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={record.error} onRetry={() => void record.refetch()} />
        )}
      </Screen>
    );
  return <Card record={record.data} />;
}

function Card({ record }: { readonly record: DirectoryRecord }): ReactNode {
  const { isSandbox } = useSession();
  const mayCheck = useMay('addresses.check');
  const mayPlay = useMay('messages.send') && isSandbox;
  const { directAddress, verification } = record;
  const values: Readonly<Record<string, string>> = useMemo(
    () => Object.fromEntries(record.values.map(({ name, value }) => [name, value])),
    [record],
  );
  const name = nameOf({ values });
  const point = useMemo(() => readPoint(record.id, name, values), [record, name, values]);
  const address = encodeURIComponent(directAddress);
  return (
    <Screen
      title={name}
      up={up}
      lead={[specialtyOf(values['prov_spec_text']), values['org_name'], placeOf({ values })]
        .filter(Boolean)
        .join(' · ')}
      actions={
        <>
          {mayCheck && (
            <Link href={`/check?address=${address}`} className="button primary">
              Check
            </Link>
          )}
          {mayPlay && (
            <Link href={`/playground?to=${address}`} className="button">
              Send a test
            </Link>
          )}
        </>
      }
    >
      <div className={point === undefined ? undefined : 'record-with-map'}>
        <div>
          <Section title="Address">
            <Facts
              facts={[
                ['Direct address', <CopyValue key="address" value={directAddress} label="Direct address" />],
                [
                  'Verification',
                  verification === null ? (
                    'not checked yet'
                  ) : (
                    <>
                      <StateMark tone={verificationTone(verification.state)}>{verification.state}</StateMark>
                      {verification.reason !== '' && <span className="faint"> {verification.reason}</span>}
                      {verification.checkedAt !== null && (
                        <span className="faint">
                          {' '}
                          checked <Time at={verification.checkedAt} />
                        </span>
                      )}
                    </>
                  ),
                ],
                [
                  'Export allowed',
                  record.isOpen ? 'yes, all its sources are open' : 'no, a source is closed',
                ],
                ['Record id', <CopyValue key="id" value={String(record.id)} label="record id" />],
              ]}
            />
          </Section>
          <Section title="Served values" note="each with its source">
            <div className="table-frame">
              <table className="record-values">
                <thead>
                  <tr>
                    <th scope="col">Field</th>
                    <th scope="col">Value</th>
                    <th scope="col">Source</th>
                  </tr>
                </thead>
                <tbody>
                  {record.values
                    .filter(({ value }) => value !== '')
                    .map(({ name: field, value, source }) => (
                      <tr key={field}>
                        <th scope="row" title={field}>
                          {labelOf(field)}
                        </th>
                        <td>{breakable(value)}</td>
                        <td className="faint">{source}</td>
                      </tr>
                    ))}
                </tbody>
              </table>
            </div>
          </Section>
          {record.said.length > 1 && <Said record={record} />}
        </div>
        {point !== undefined && (
          <div className="record-map">
            <Suspense fallback={<WaitingMap summary={placeOf({ values })} />}>
              <UsMap
                points={[point]}
                circle={undefined}
                selected={new Set([record.id])}
                onSelect={() => undefined}
                summary={placeOf({ values })}
              />
            </Suspense>
          </div>
        )}
      </div>
    </Screen>
  );
}

function readPoint(id: number, label: string, values: Readonly<Record<string, string>>) {
  const [lat, lng] = [Number(values['lat'] || Number.NaN), Number(values['lng'] || Number.NaN)];
  return Number.isFinite(lat) && Number.isFinite(lng) ? { id, lat, lng, label } : undefined;
}

/** The values of each source where they differ. */
function Said({ record }: { readonly record: DirectoryRecord }): ReactNode {
  const names = record.values
    .map(({ name }) => name)
    .filter((name) => new Set(record.said.map(({ values }) => values[name] ?? '')).size > 1);
  return (
    <Section
      title="Where the sources differ"
      note="for each field, the first source that has a value is served"
    >
      <div className="table-frame">
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              {record.said.map(({ source, exportRight }) => (
                <th key={source} scope="col">
                  {source} <span className="faint">{exportRight}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">{labelOf(name)}</th>
                {record.said.map(({ source, values }) => (
                  <td key={source}>{values[name] || <span className="faint">–</span>}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
