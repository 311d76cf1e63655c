import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Storage } from '../../../platform/index.ts';
import type { AuditEvent } from '../../audit/index.ts';
import { BlockWriter, type Block } from '../records/block.ts';
import { hashText, type TextHash } from '../records/hash-text.ts';
import { markLine, readMarkedLine, textOf } from '../records/record-line.ts';
import { hostedTime } from './change-times.ts';
import type { ActivationContext } from './loads.ts';
import { loadState, lockState, updateState, type DirectoryDb } from './state.ts';
import type { DirectoryTables, ProvisionedRow } from './tables.ts';

/**
 * Records of addresses that this operator hosts. They lie over every generation, so that a load neither
 * removes them nor brings an outdated copy of them; their key is the Direct address and the NPI, as in a load
 * without keys.
 */
export interface ProvisionedRecord {
  /** The lower-cased Direct address. */
  readonly addressKey: string;
  /** A record line as in a block. */
  readonly line: string;
}

export async function storeProvisioned(
  { storage, clock, audit }: ActivationContext,
  record: ProvisionedRecord,
): Promise<void> {
  await loadState(storage);
  await storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    const known = await tx
      .selectFrom('directory_provisioned')
      .select(['record_id', 'record', 'former_npis'])
      .where('address_key', '=', record.addressKey)
      .executeTakeFirst();
    if (known !== undefined && readMarkedLine(known.record) === record.line) return;
    const revision = state.revision + 1;
    const changedAt = hostedTime(state, clock.now());
    const row = {
      record: markLine(record.line),
      updated_at: changedAt * 1000,
      listing_changed_at: null,
      former_npis: formerNpis(known, record.line, clock.now()),
      revision,
    };
    await tx
      .insertInto('directory_provisioned')
      .values({ ...row, address_key: record.addressKey, record_id: known?.record_id ?? state.next_record_id })
      .onConflict((conflict) => conflict.column('address_key').doUpdateSet(row))
      .execute();
    const nextId = known === undefined ? state.next_record_id + 1 : state.next_record_id;
    await updateState(tx, { revision, next_record_id: nextId, last_change_at: changedAt });
    await audit.recordIn(tx, listing('directory.provision', record.addressKey));
  });
}

/** The line of a hosted address; empty if it is not listed. */
export async function findProvisioned(storage: Storage, addressKey: string): Promise<string> {
  const row = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_provisioned')
    .select('record')
    .where('address_key', '=', addressKey)
    .executeTakeFirst();
  return row === undefined ? '' : readMarkedLine(row.record);
}

/** Rows of one statement. */
const batchSize = 500;

type KnownRow = Pick<ProvisionedRow, 'record_id' | 'record' | 'former_npis'>;

async function findKnown(db: DirectoryDb, keys: readonly string[]): Promise<Map<string, KnownRow>> {
  const known = new Map<string, KnownRow>();
  for (let start = 0; start < keys.length; start += batchSize) {
    const found = await db
      .selectFrom('directory_provisioned')
      .select(['address_key', 'record_id', 'record', 'former_npis'])
      .where('address_key', 'in', keys.slice(start, start + batchSize))
      .execute();
    for (const row of found) known.set(row.address_key, row);
  }
  return known;
}

/** The lines of those of the addresses that are listed, and how many of the organizations' are listed. */
export async function findListed(
  storage: Storage,
  keys: readonly string[],
  organizations: readonly string[],
): Promise<{ readonly lines: ReadonlyMap<string, string>; readonly count: number }> {
  // The other tables are read by their names: their service builds upon this one.
  const { rows } = await sql<{ count: number | string }>`select count(*) as count
    from hosted_domain d join hosted_address a on a.domain = d.domain
    join directory_provisioned p on p.address_key = a.address_key
    where p.record <> '' and d.organization_id in (${sql.join(organizations)})`.execute(
    storage.tables<DirectoryTables>(),
  );
  return { lines: await findLines(storage, keys), count: Number(rows[0]?.count) };
}

/** The lines of those of the addresses that are listed. */
export async function findLines(
  storage: Storage,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const lines = new Map<string, string>();
  for (const [key, { record }] of await findKnown(storage.tables<DirectoryTables>(), keys))
    if (record !== '') lines.set(key, readMarkedLine(record));
  return lines;
}

/**
 * The same for many, in the caller's transaction: an empty line takes the address out of the directory. Call
 * `loadState` before. Returns for each whether it differs from what was stored; with `isDry` nothing is
 * stored.
 */
export async function storeProvisionedIn(
  tx: DirectoryDb,
  { storage, clock, audit }: ActivationContext,
  records: readonly ProvisionedRecord[],
  isDry: boolean,
): Promise<readonly boolean[]> {
  const state = await lockState(storage, tx);
  const known = await findKnown(
    tx,
    records.map((one) => one.addressKey),
  );
  const isChanged = records.map(({ addressKey, line }) => {
    const old = known.get(addressKey);
    return line === ''
      ? old !== undefined && old.record !== ''
      : old === undefined || readMarkedLine(old.record) !== line;
  });
  const changed = records.filter((_record, index) => isChanged[index]);
  if (isDry || changed.length === 0) return isChanged;
  const revision = state.revision + 1;
  const changedAt = hostedTime(state, clock.now());
  let nextId = state.next_record_id;
  const rows = changed.map(({ addressKey, line }) => ({
    address_key: addressKey,
    record_id: known.get(addressKey)?.record_id ?? nextId++,
    record: line === '' ? '' : markLine(line),
    updated_at: changedAt * 1000,
    listing_changed_at: line === '' ? clock.now().getTime() : null,
    former_npis: formerNpis(known.get(addressKey), line, clock.now()),
    revision,
  }));
  for (let start = 0; start < rows.length; start += batchSize)
    await tx
      .insertInto('directory_provisioned')
      .values(rows.slice(start, start + batchSize))
      .onConflict((conflict) =>
        conflict.column('address_key').doUpdateSet((eb) => ({
          record: eb.ref('excluded.record'),
          // The time of a removal is not that of a record.
          updated_at: eb
            .case()
            .when('excluded.record', '=', '')
            .then(eb.ref('directory_provisioned.updated_at'))
            .else(eb.ref('excluded.updated_at'))
            .end(),
          listing_changed_at: eb.ref('excluded.listing_changed_at'),
          former_npis: eb.ref('excluded.former_npis'),
          revision: eb.ref('excluded.revision'),
        })),
      )
      .execute();
  const isListing = changed.some(({ line }) => line !== '');
  await updateState(tx, {
    revision,
    next_record_id: nextId,
    ...(isListing && { last_change_at: changedAt }),
  });
  for (const { addressKey, line } of changed)
    await audit.recordIn(
      tx,
      listing(line === '' ? 'directory.unprovision' : 'directory.provision', addressKey),
    );
  return isChanged;
}

/**
 * Takes a hosted address out of the directory: the row stays, empty, and with it the id. True if it was
 * there.
 */
export async function removeProvisioned(
  { storage, audit, clock }: ActivationContext,
  addressKey: string,
): Promise<boolean> {
  await loadState(storage);
  return storage.transaction(async (tx: DirectoryDb) => {
    const revision = (await lockState(storage, tx)).revision + 1;
    const known = await tx
      .selectFrom('directory_provisioned')
      .select(['record', 'former_npis'])
      .where('address_key', '=', addressKey)
      .where('record', '!=', '')
      .executeTakeFirst();
    if (known === undefined) return false;
    const at = clock.now();
    await tx
      .updateTable('directory_provisioned')
      .set({
        record: '',
        listing_changed_at: at.getTime(),
        former_npis: formerNpis(known, '', at),
        revision,
      })
      .where('address_key', '=', addressKey)
      .execute();
    await updateState(tx, { revision });
    await audit.recordIn(tx, listing('directory.unprovision', addressKey));
    return true;
  });
}

/** Of one address; older ones were contributed long ago. */
const maxFormerNpis = 16;

/** The column `former_npis` when a record is replaced by a line, or removed by an empty one. */
function formerNpis(
  known: Pick<ProvisionedRow, 'record' | 'former_npis'> | undefined,
  line: string,
  at: Date,
): string | null {
  if (known === undefined || known.record === '') return known?.former_npis ?? null;
  const npi = textOf(readMarkedLine(known.record), 'npi');
  if (line !== '' && textOf(line, 'npi') === npi) return known.former_npis;
  const others = readFormerNpis(known.former_npis).filter((one) => one.npi !== npi);
  return [...others, { npi, until: at.getTime() }]
    .slice(-maxFormerNpis)
    .map((one) => `${one.npi}@${one.until}`)
    .join(' ');
}

/** The NPIs of a row's former records, empty for one without, and the times until which they were right. */
export function readFormerNpis(
  column: string | null,
): readonly { readonly npi: string; readonly until: number }[] {
  if (column === null) return [];
  return column.split(' ').map((one) => {
    const at = one.lastIndexOf('@');
    return { npi: one.slice(0, at), until: Number(one.slice(at + 1)) };
  });
}

function listing(action: string, address: string): AuditEvent {
  return { action, actor: 'operator', outcome: 'ok', objects: { address } };
}

/** All provisioned records in blocks. */
export async function readProvisioned(storage: Storage, secret: Uint8Array): Promise<Block[]> {
  const rows = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_provisioned')
    .select(['record', 'record_id', 'updated_at'])
    .where('record', '!=', '')
    .orderBy('record_id')
    .execute();
  return provisionedBlocks(rows, seedOf(secret));
}

/** Small blocks, so that compressing one holds nobody up. */
const recordsPerBlock = 512;

/** Provisioned records in blocks, in the order given; hands the event loop back in between. */
export async function provisionedBlocks(
  rows: readonly Pick<ProvisionedRow, 'record' | 'record_id' | 'updated_at'>[],
  seed: HashSeed,
): Promise<Block[]> {
  const blocks: Block[] = [];
  const hash = { low: 0, high: 0 };
  for (let start = 0; start < rows.length; start += recordsPerBlock) {
    const writer = new BlockWriter(recordsPerBlock * 2);
    for (const row of rows.slice(start, start + recordsPerBlock)) {
      hashHosted(row.record, seed, hash);
      const line = readMarkedLine(row.record);
      writer.add(hash.low, hash.high, row.record_id, 0, line, Math.floor(row.updated_at / 1000));
      if (hideOwnerless(row.record, seed, hash)) writer.add(hash.low, hash.high, 0, 0, '');
    }
    blocks.push(writer.take() as Block);
    await nextTurn();
  }
  return blocks;
}

/** Seed of the key hashes of a database. */
export interface HashSeed {
  readonly low: number;
  readonly high: number;
}

/** The seed of the key hashes of a database. */
export function seedOf(secret: Uint8Array): HashSeed {
  const view = new DataView(secret.buffer, secret.byteOffset, secret.byteLength);
  return { low: view.getUint32(0, true), high: view.getUint32(4, true) };
}

/** The hash of the key that a load without a key column gives to the record of a hosted row. */
export function hashHosted(record: string, seed: HashSeed, out: TextHash): void {
  const line = readMarkedLine(record);
  hashAddress(textOf(line, 'directAddress'), textOf(line, 'npi'), seed, out);
}

/**
 * The key of the entries without an NPI that a hosted record with one stands for: the operator says whose the
 * address is (Decision 0025). False for a record without an NPI.
 */
export function hideOwnerless(record: string, seed: HashSeed, out: TextHash): boolean {
  const line = readMarkedLine(record);
  if (textOf(line, 'npi') === '') return false;
  hashAddress(textOf(line, 'directAddress'), '', seed, out);
  return true;
}

/**
 * The same, from the Direct address and the NPI. The lower half is that of the address alone, so that the
 * records of an address are found without their lines; the highest bit tells whether there is an NPI, and the
 * rest of the upper half differs for any two NPIs of one address.
 */
export function hashAddress(directAddress: string, npi: string, seed: HashSeed, out: TextHash): void {
  hashText(`a\t${directAddress.toLowerCase()}`, seed.low, seed.high, out);
  out.high = npi === '' ? out.high & ~ownerBit : (out.high ^ numberOf(npi, seed)) | ownerBit;
  out.high >>>= 0;
}

const ownerBit = 1 << 31;
const lowestNpi = 1_000_000_000;

/** 31 bits, different for all NPIs as they are assigned, which begin with 1 or 2. */
function numberOf(npi: string, seed: HashSeed): number {
  const number = Number(npi) - lowestNpi;
  if (npi.length === 10 && number >= 0 && number < 2 * lowestNpi) return number;
  const hash = { low: 0, high: 0 };
  hashText(npi, seed.low, seed.high, hash);
  return hash.low & ~ownerBit;
}

/** True if the hash of a Direct address and an NPI is that of a record with an NPI. */
export function hasOwner(high: number): boolean {
  return (high & ownerBit) !== 0;
}

/** The hash of a record's key: a key of the file, or address and NPI. */
export function hashKey(key: RecordKey, seed: HashSeed, out: TextHash): void {
  if (typeof key === 'string') hashText(key, seed.low, seed.high, out);
  else hashAddress(key.directAddress, key.npi, seed, out);
}

/** What identifies a record: a key of its source's files with its prefix, else its address and NPI. */
export type RecordKey = string | { readonly directAddress: string; readonly npi: string };
