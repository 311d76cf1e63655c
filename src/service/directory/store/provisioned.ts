import type { Storage } from '../../../platform/index.ts';
import type { AuditEvent } from '../../audit/index.ts';
import { BlockWriter, type Block } from '../load/block.ts';
import { hashText } from '../load/hash-text.ts';
import type { ActivationContext } from './loads.ts';
import { getState, loadState, updateState, type DirectoryDb } from './state.ts';
import type { DirectoryTables } from './tables.ts';

/**
 * Records of addresses that this operator hosts. They lie over every generation, so that a load neither removes them
 * nor brings an outdated copy of them; their key is the Direct address and the NPI, as in a load without keys.
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
    const state = await getState(tx);
    const known = await tx
      .selectFrom('directory_provisioned')
      .select(['record_id', 'record'])
      .where('address_key', '=', record.addressKey)
      .executeTakeFirst();
    if (known?.record === record.line) return;
    const row = { record: record.line, updated_at: clock.now().getTime() };
    await tx
      .insertInto('directory_provisioned')
      .values({ ...row, address_key: record.addressKey, record_id: known?.record_id ?? state.next_record_id })
      .onConflict((conflict) => conflict.column('address_key').doUpdateSet(row))
      .execute();
    const nextId = known === undefined ? state.next_record_id + 1 : state.next_record_id;
    await updateState(tx, { revision: state.revision + 1, next_record_id: nextId });
    await audit.recordIn(tx, listing('directory.provision', record.addressKey));
  });
}

/** Takes a hosted address out of the directory. True if it was there. */
export async function removeProvisioned(
  { storage, audit }: Omit<ActivationContext, 'clock'>,
  addressKey: string,
): Promise<boolean> {
  await loadState(storage);
  return storage.transaction(async (tx: DirectoryDb) => {
    const result = await tx
      .deleteFrom('directory_provisioned')
      .where('address_key', '=', addressKey)
      .executeTakeFirst();
    if (result.numDeletedRows === 0n) return false;
    const { revision } = await getState(tx);
    await updateState(tx, { revision: revision + 1 });
    await audit.recordIn(tx, listing('directory.unprovision', addressKey));
    return true;
  });
}

function listing(action: string, address: string): AuditEvent {
  return { action, actor: 'operator', outcome: 'ok', objects: { address } };
}

/** All provisioned records as one block, or undefined if there are none. */
export async function readProvisioned(storage: Storage, secret: Uint8Array): Promise<Block | undefined> {
  const rows = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_provisioned')
    .selectAll()
    .orderBy('record_id')
    .execute();
  if (rows.length === 0) return undefined;
  const writer = new BlockWriter(rows.length);
  const seed = seedOf(secret);
  const hash = { low: 0, high: 0 };
  for (const row of rows) {
    hashText(keyOfLine(row.record), seed.low, seed.high, hash);
    writer.add(hash.low, hash.high, row.record_id, 0, row.record);
  }
  return writer.take();
}

/** The seed of the key hashes of a database. */
export function seedOf(secret: Uint8Array): { readonly low: number; readonly high: number } {
  const view = new DataView(secret.buffer, secret.byteOffset, secret.byteLength);
  return { low: view.getUint32(0, true), high: view.getUint32(4, true) };
}

/** The key that a load without a key column gives to the same record. */
function keyOfLine(line: string): string {
  const fields = line.split('\t');
  return `a\t${(fields[5] ?? '').toLowerCase()}\t${fields[0] ?? ''}`;
}
