import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState, type ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type {
  AddressAnswer,
  AddressDetails,
  AddressEntry,
  AddressPage,
  AddressPut,
  DomainDetails,
  HostedAddress,
} from '../../../app/console/contract/index.ts';
import { get, post, put, type ApiError } from '../../api/client.ts';
import { refreshTrust } from '../../api/refresh-trust.ts';
import { usePagedRows } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Address } from '../../components/address.tsx';
import { Command } from '../../components/command.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ExportCsv, type CsvColumn } from '../../components/export-csv.tsx';
import { FilterSelect, TextField } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { AddLegalHold, LegalHolds } from '../../components/legal-holds.tsx';
import { Section } from '../../components/screen.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';
import { ForwardDialog, Forwarding } from './forward-mail.tsx';
import { ImportDialog } from './import-file.tsx';

const columnsFor = (unread: ReadonlySet<string>): readonly Column<HostedAddress>[] => [
  { name: 'Address', isFlexible: true, cell: ({ address }) => <Address of={address} /> },
  {
    name: 'State',
    cell: ({ address, status }) =>
      unread.has(address) ? (
        <StateMark tone="warning">nobody reads it</StateMark>
      ) : (
        <StateMark tone={status === 'active' ? 'ok' : 'none'}>{status}</StateMark>
      ),
  },
];
const csvColumnsFor = (unread: ReadonlySet<string>): readonly CsvColumn<HostedAddress>[] => [
  { name: 'address', value: ({ address }) => address },
  {
    name: 'state',
    value: ({ address, status }) => (unread.has(address) ? 'nobody reads it' : status),
  },
];
const idOf = ({ address }: HostedAddress): string => address;

/** The addresses of a domain: search, add, change. The opened one is in the page's URL. */
export function Addresses({
  domain,
  path,
  unread,
}: {
  readonly domain: string;
  readonly path: string;
  readonly unread: DomainDetails['unread'];
}): ReactNode {
  const columns = useMemo(() => columnsFor(new Set(unread.addresses)), [unread]);
  const mayChange = useMay('settings.change');
  const [parameters, setParameters] = useSearchParams();
  const [isAdding, setAdding] = useState(false);
  const [isImporting, setImporting] = useState(false);
  const filters = { q: parameters.get('q') ?? '', status: parameters.get('status') ?? '' };
  const opened = parameters.get('address');
  const change = (values: Readonly<Record<string, string>>): void =>
    setParameters(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(values))
          if (value === '') next.delete(name);
          else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const count = useQuery<AddressPage, ApiError>({
    queryKey: ['trust', 'addresses', domain, filters, 'count'],
    queryFn: ({ signal }) => get<AddressPage>(`${path}/addresses`, { ...filters, limit: 1 }, signal),
  });
  const page = usePagedRows<HostedAddress>({
    queryKey: ['trust', 'addresses', domain, filters],
    fetchPage: (cursor, signal, read) =>
      read<AddressPage>(`${path}/addresses`, { ...filters, cursor }, signal),
    idOf,
    isReplaced: true,
  });
  return (
    <Section
      title="Addresses"
      note={count.data && describe(count.data, filters.q !== '' || filters.status !== '')}
      actions={
        <>
          <ExportCsv
            file={`addresses-${domain}`}
            columns={csvColumnsFor(new Set(unread.addresses))}
            readPage={(cursor) => get<AddressPage>(`${path}/addresses`, { ...filters, cursor, limit: 200 })}
          />
          {mayChange && (
            <>
              <button type="button" onClick={() => setImporting(true)}>
                Add a file
              </button>
              <button type="button" onClick={() => setAdding(true)}>
                Add an address
              </button>
            </>
          )}
        </>
      }
    >
      {unread.text !== '' && <StateMark tone="warning">{unread.text}</StateMark>}
      {(count.data?.total ?? 0) > 0 && (
        <div className="filters">
          <SearchBox
            label="Search addresses"
            placeholder="Part of an address"
            value={filters.q}
            onSearch={(q) => change({ q: q.trim() })}
          />
          <FilterSelect
            label="State"
            value={filters.status}
            onValue={(status) => change({ status })}
            options={[
              ['', 'any'],
              ['active', 'active'],
              ['disabled', 'disabled'],
              ['cannot-receive', 'cannot receive'],
            ]}
          />
        </div>
      )}
      <DataTable
        caption={`Addresses of ${domain}`}
        columns={columns}
        page={page}
        idOf={idOf}
        hrefOf={({ address }) =>
          `/domains/${encodeURIComponent(domain)}?address=${encodeURIComponent(address)}`
        }
        noun={['address', 'addresses']}
        empty={
          <EmptyState title={count.data?.total === 0 ? 'No address yet' : 'No matching address'}>
            {count.data?.total === 0 && <p>Mail to this domain is refused until it has one.</p>}
          </EmptyState>
        }
      />
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
      {isAdding && <AddressForm domain={domain} onClose={() => setAdding(false)} />}
      {opened !== null && (
        <OpenedAddress
          key={opened}
          domain={domain}
          address={opened}
          onClose={() => change({ address: '' })}
        />
      )}
    </Section>
  );
}

function describe({ found, total }: AddressPage, isFiltered: boolean): string {
  return isFiltered ? `${formatNumber(found)} of ${formatNumber(total)}` : `${formatNumber(total)} hosted`;
}

function OpenedAddress({
  domain,
  address,
  onClose,
}: {
  readonly domain: string;
  readonly address: string;
  readonly onClose: () => void;
}): ReactNode {
  const details = useQuery<AddressDetails, ApiError>({
    queryKey: ['trust', 'address', address],
    queryFn: ({ signal }) => get<AddressDetails>(`/addresses/${encodeURIComponent(address)}`, {}, signal),
    staleTime: 0,
    gcTime: 0,
  });
  if (details.data !== undefined)
    return <AddressForm domain={domain} before={details.data} onClose={onClose} />;
  return (
    <Dialog title={address} onClose={onClose}>
      {details.error === null ? (
        <LoadingState lines={4} />
      ) : (
        <ErrorState error={details.error} onRetry={() => void details.refetch()} />
      )}
    </Dialog>
  );
}

/** Fields of the entry, with the option of the command. */
const fields = [
  ['firstName', 'First name', '--first-name'],
  ['lastName', 'Last name', '--last-name'],
  ['suffix', 'Suffix', '--suffix'],
  ['npi', 'NPI', '--npi'],
  ['organization', 'Organization', '--organization'],
  ['specialty', 'Specialty', '--specialty'],
  ['street', 'Street', '--street'],
  ['city', 'City', '--city'],
  ['state', 'State', '--state'],
  ['zip', 'ZIP code', '--zip'],
  ['phone', 'Telephone', '--phone'],
] as const satisfies readonly (readonly [keyof AddressEntry, string, string])[];

function AddressForm({
  domain,
  before,
  onClose,
}: {
  readonly domain: string;
  readonly before?: AddressDetails;
  readonly onClose: () => void;
}): ReactNode {
  const mayChange = useMay('settings.change');
  const [local, setLocal] = useState('');
  const [isListed, setListed] = useState(before?.isListed ?? true);
  const [entry, setEntry] = useState<AddressEntry>(before?.entry ?? {});
  const announce = useAnnounce();
  const queries = useQueryClient();
  const address = before?.address ?? (local.includes('@') ? local.trim() : `${local.trim()}@${domain}`);
  const target = `/addresses/${encodeURIComponent(address)}`;
  const [isForwarding, setForwarding] = useState(false);
  const refresh = (): void => void refreshTrust(queries);
  const tell = ({ sentence, warnings }: AddressAnswer): void => {
    announce({ text: [sentence, ...warnings].join(' ') });
    refresh();
  };
  const done = (answer: AddressAnswer): void => {
    tell(answer);
    onClose();
  };
  const disable = async (): Promise<void> => {
    try {
      done(await post<AddressAnswer>(`${target}/disable`));
    } catch (error) {
      announce({ text: error instanceof Error ? error.message : String(error), tone: 'failed' });
    }
  };
  const filled = Object.fromEntries(
    Object.entries(entry).filter(([, value]) => value.trim() !== ''),
  ) as AddressEntry;
  const isDisabled = before?.status === 'disabled';
  return (
    <FormDialog<AddressAnswer>
      title={before === undefined ? `Add an address to ${domain}` : before.address}
      action={before === undefined ? 'Add' : isDisabled ? 'Enable and save' : 'Save'}
      fields={['address', ...(isListed ? ['entry.npi'] : [])]}
      canSend={mayChange && (before !== undefined || local.trim() !== '')}
      isWide
      above={
        before !== undefined && (
          <>
            <div className="row">
              <StateMark tone={isDisabled ? 'none' : 'ok'}>
                {isDisabled ? 'disabled: its mail is refused' : 'active'}
              </StateMark>
              <div className="actions at-end">
                {mayChange && !isDisabled && (
                  <>
                    <button type="button" onClick={() => setForwarding(true)}>
                      Forward
                    </button>
                    <button
                      type="button"
                      onClick={() => {
                        void disable();
                      }}
                    >
                      Disable
                    </button>
                  </>
                )}
                <AddLegalHold subjects={[{ kind: 'address', name: before.address }]} onDone={refresh} />
              </div>
            </div>
            {before.forwarding !== null && <Forwarding rule={before.forwarding} />}
            <LegalHolds holds={before.legalHolds} onChanged={refresh} />
            {isForwarding && (
              <ForwardDialog
                address={before.address}
                domain={domain}
                before={before.forwarding}
                onDone={(answer) => {
                  tell(answer);
                  setForwarding(false);
                }}
                onClose={() => setForwarding(false)}
              />
            )}
          </>
        )
      }
      send={() =>
        put<AddressAnswer>(target, { isListed, ...(isListed && { entry: filled }) } satisfies AddressPut)
      }
      onDone={done}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          {before === undefined && (
            <TextField
              label="Address"
              hint={local.trim() === '' ? `the part before @${domain} is enough` : address}
              required
              maxLength={255}
              value={local}
              onText={setLocal}
              error={problemOf('address')}
            />
          )}
          <label className="choice">
            <input
              type="checkbox"
              checked={isListed}
              onChange={(event) => setListed(event.currentTarget.checked)}
            />
            <span>Listed in the directory</span>
          </label>
          {isListed && (
            <div className="form-columns">
              {fields.map(([field, label]) => (
                <TextField
                  key={field}
                  label={label}
                  maxLength={300}
                  value={entry[field] ?? ''}
                  onText={(text) => setEntry({ ...entry, [field]: text })}
                  error={problemOf(`entry.${field}`)}
                />
              ))}
            </div>
          )}
          <Command
            words={[
              'address',
              'add',
              address,
              ...(isListed
                ? fields.flatMap(([field, , option]) => {
                    const value = filled[field];
                    return value === undefined ? [] : [option, value];
                  })
                : ['--no-listed']),
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}
