import { providerFields } from '../../../lib/provider-record/index.ts';
import { addressKey, parseDirectAddress } from '../../../lib/values/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { isLive, readLivePairs } from '../merge/live-entries.ts';
import { findGroups, mergeAddress, type FoundEntry, type MergedRecord } from '../merge/merge-changed.ts';
import { maskOf } from '../merge/source-masks.ts';
import { AddressTable } from '../records/address-table.ts';
import { readMarkedLine, textOf } from '../records/record-line.ts';
import { hashAddress, seedOf, type HashSeed } from '../store/provisioned.ts';
import { isOpen, listSources, readChains, type SourceChain } from '../store/sources.ts';
import { loadState, type DirectoryDb } from '../store/state.ts';
import type { DirectoryTables, ExportRight, ProvisionedRow, SourceRow } from '../store/tables.ts';

/** The key by which a record is looked up. */
export type RecordName = { readonly directAddress: string } | { readonly id: number };

/** A value of a record, and the source that it comes from: the name of one, or `hosted`. */
export interface ShownValue {
  readonly value: string;
  readonly source: string;
}

// An operator sees internal fields, too.
type ShownName = (typeof providerFields)[number]['wireName'] | 'lat' | 'lng';

/** The values of one source for a record. */
export interface SourceRecord {
  readonly source: string;
  readonly exportRight: ExportRight;
  readonly values: Readonly<Partial<Record<ShownName, string>>>;
}

/** A record as it is served, and each source's records of its address and NPI. */
export interface ShownRecord {
  readonly id: number;
  /** True if all that the record shows comes from sources that are open to export. */
  readonly isOpen: boolean;
  /** Every value that is not blank, with where it comes from. */
  readonly values: Readonly<Partial<Record<ShownName, ShownValue>>>;
  /** In order of precedence. */
  readonly said: readonly SourceRecord[];
}

const names: readonly ShownName[] = [...providerFields.map(({ wireName }) => wireName), 'lat', 'lng'];
const hosted = 'hosted';

/** Direct address and NPI of a record. */
export interface RecordPair {
  readonly directAddress: string;
  readonly npi: string;
}

/**
 * The records of a Direct address, or the one with an id, as they are served now, with each source's records.
 * Reads the keys of all blocks, so that it works without an index: a matter of seconds at millions of
 * records. Throws VALUE_DIRECT_ADDRESS_INVALID.
 */
export async function showRecords(storage: Storage, name: RecordName): Promise<readonly ShownRecord[]> {
  return show(storage, name, undefined);
}

/**
 * The record with an id. An index tells its address and NPI, with which a few blocks are read; if it does not
 * know them, all are.
 */
export async function showRecord(
  storage: Storage,
  id: number,
  indexed: RecordPair | undefined,
): Promise<ShownRecord | undefined> {
  const [found] = indexed === undefined ? [] : await show(storage, { id }, indexed);
  // The index may be older than the newest load.
  return found ?? (await show(storage, { id }, undefined))[0];
}

async function show(
  storage: Storage,
  name: RecordName,
  indexed: RecordPair | undefined,
): Promise<readonly ShownRecord[]> {
  const state = await loadState(storage);
  const db = storage.tables<DirectoryTables>();
  const sources = await readChains(db, await listSources(db));
  const seed = seedOf(state.secret);
  const wanted = 'id' in name ? name : { directAddress: addressKey(parseDirectAddress(name.directAddress)) };
  const found = new AddressTable();
  const hosted = await findHosted(
    db,
    'id' in wanted ? { ids: [wanted.id] } : { addresses: [wanted.directAddress] },
  );
  const known = [indexed, wanted, ...hosted].flatMap((one) =>
    one !== undefined && 'directAddress' in one ? [one.directAddress] : [],
  );
  const hash = { low: 0, high: 0 };
  for (const directAddress of known) {
    hashAddress(directAddress, '', seed, hash);
    found.obtain(hash.low);
  }
  if ('id' in wanted && indexed === undefined) await findById(db, sources, wanted.id, seed, found);
  const groups = await findGroups({ db, sources, base: [], addresses: found, seed });
  const merged = groups.flatMap(({ said }) => mergeAddress(said, bitsOf(sources)));
  const addresses = [...new Set([...known, ...merged.map(({ line }) => addressOf(line))])];
  const shown = showAll(merged, await findHosted(db, { addresses }), sources);
  return shown.filter(({ id, values }) =>
    'id' in wanted ? id === wanted.id : values.serv_direct_addr?.value.toLowerCase() === wanted.directAddress,
  );
}

/** A hosted record is served instead of the ones of its address with its NPI, and without one. */
function showAll(
  merged: readonly MergedRecord[],
  hostedRows: readonly HostedRow[],
  sources: readonly SourceChain[],
): ShownRecord[] {
  const over = new Map(
    hostedRows.flatMap((row) => {
      const line = readMarkedLine(row.record);
      return [pairOf(line), `${addressOf(line)}\t`].map((pair) => [pair, row] as const);
    }),
  );
  const overridden = Map.groupBy(merged, ({ line }) => over.get(pairOf(line)));
  return [
    ...hostedRows.map((row) =>
      showHosted(row, overridden.get(row)?.flatMap(({ said }) => said) ?? [], sources),
    ),
    ...(overridden.get(undefined) ?? []).map((record) => showMerged(record, sources)),
  ];
}

function pairOf(line: string): string {
  return `${addressOf(line)}\t${textOf(line, 'npi')}`;
}

/** The addresses that any source has under this id. */
async function findById(
  db: DirectoryDb,
  sources: readonly SourceChain[],
  id: number,
  seed: HashSeed,
  found: AddressTable,
): Promise<void> {
  for (const { chain } of sources) {
    for await (const block of readLivePairs(db, chain, seed)) {
      for (let entry = 0; entry < block.entryCount; entry++)
        if (block.keys[entry * 4 + 2] === id && isLive(block, entry))
          found.obtain(block.pairs[entry * block.pairStride] as number);
    }
  }
}

type HostedRow = Pick<ProvisionedRow, 'record' | 'record_id'> & { readonly directAddress: string };

function addressOf(line: string): string {
  return textOf(line, 'directAddress').toLowerCase();
}

/** The hosted records of some addresses or ids. */
async function findHosted(
  db: DirectoryDb,
  { ids = [], addresses = [] }: { readonly ids?: readonly number[]; readonly addresses?: readonly string[] },
): Promise<HostedRow[]> {
  if (ids.length + addresses.length === 0) return [];
  const rows = await db
    .selectFrom('directory_provisioned')
    .select(['record', 'record_id'])
    .where('record', '!=', '')
    .where((where) =>
      ids.length > 0 ? where('record_id', 'in', ids) : where('address_key', 'in', addresses),
    )
    .execute();
  return rows.map((row) => ({ ...row, directAddress: addressOf(readMarkedLine(row.record)) }));
}

function bitsOf(sources: readonly SourceChain[]): number[] {
  return sources.map(({ source }) => source.bit);
}

function showMerged(
  { id, line, mask, origins, said }: MergedRecord,
  sources: readonly SourceChain[],
): ShownRecord {
  const rows = sources.map(({ source }) => source);
  return {
    id,
    isOpen: rows.every((row) => (mask & maskOf(row.bit)) === 0 || isOpen(row.export_right)),
    values: valuesOf(line, (value, position) => ({
      value,
      source: rows[origins[position] ?? -1]?.name ?? '',
    })),
    said: sourceRecordOf(said, rows),
  };
}

/** A hosted record is served as the operator has written it, and is the operator's to give. */
function showHosted(
  { record, record_id: id }: HostedRow,
  said: readonly FoundEntry[],
  sources: readonly SourceChain[],
): ShownRecord {
  const line = readMarkedLine(record);
  const own: SourceRecord = {
    source: hosted,
    exportRight: 'closed',
    values: valuesOf(line, (value) => value),
  };
  return {
    id,
    isOpen: false,
    values: valuesOf(line, (value) => ({ value, source: hosted })),
    said: [
      own,
      ...sourceRecordOf(
        said,
        sources.map(({ source }) => source),
      ),
    ],
  };
}

function sourceRecordOf(said: readonly FoundEntry[], rows: readonly SourceRow[]): SourceRecord[] {
  return said
    .toSorted((a, b) => a.rank - b.rank || a.id - b.id)
    .map(({ rank, line }) => {
      const row = rows[rank] as SourceRow;
      return {
        source: row.name,
        exportRight: row.export_right,
        values: valuesOf(line, (value) => value),
      };
    });
}

function valuesOf<Shown>(
  line: string,
  show: (value: string, position: number) => Shown,
): Partial<Record<ShownName, Shown>> {
  const values = line.split('\t').map((value, position) => [names[position], value, position] as const);
  return Object.fromEntries(
    values.flatMap(([name, value, position]) =>
      name === undefined || value === '' ? [] : [[name, show(value, position)]],
    ),
  ) as Partial<Record<ShownName, Shown>>;
}
