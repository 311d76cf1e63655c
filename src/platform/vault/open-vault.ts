import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { masterKeyId, type MasterKey } from './master-key.ts';
import { openBox, sealBox } from './sealed-box.ts';
import { createKeyId, createVaultOver, type Vault } from './vault.ts';

interface VaultTables {
  data_key: {
    id: string;
    master_key_id: string;
    wrapped_key: Uint8Array;
    is_current: number;
    created_at: number;
  };
}

/** A new data key is made when the current one is older than this. */
const dataKeyLifetimeMs = 90 * 24 * 3600 * 1000;

/** A vault whose data keys lie in the database, wrapped by the master key. */
export interface StoredVault extends Vault {
  /** Reads the data keys again; another process may have added some. */
  refresh(): Promise<void>;
  /** Makes a new data key, which seals from now on. What is sealed already stays readable. */
  rotateDataKey(): Promise<string>;
  /** Wraps every data key with a new master key. Afterwards only the new one opens the vault. */
  rewrap(newMasterKey: MasterKey): Promise<number>;
}

export interface VaultOptions {
  readonly storage: Storage;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
}

/** True if something may be sealed in the database already: a new master key would open none of it. */
export async function hasDataKeys(storage: Storage): Promise<boolean> {
  const row = await storage
    .tables<VaultTables>()
    .selectFrom('data_key')
    .select('id')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Loads (and at first makes) the data keys. Throws PLATFORM_MASTER_KEY_INVALID if they are under another master key. */
export async function openVault({ storage, masterKey, clock }: VaultOptions): Promise<StoredVault> {
  const keys = new Map<string, Uint8Array>();
  let current = { id: '', createdAt: 0 };
  let master = masterKey;

  async function refresh(): Promise<void> {
    const rows = await storage
      .tables<VaultTables>()
      .selectFrom('data_key')
      .selectAll()
      .orderBy('created_at')
      .execute();
    for (const row of rows) {
      if (!keys.has(row.id)) keys.set(row.id, unwrap(master, row));
      if (row.is_current === 1) current = { id: row.id, createdAt: row.created_at };
    }
  }

  async function addDataKey(isStillNeeded: () => boolean): Promise<void> {
    await storage.transaction(async (tx: Kysely<VaultTables>) => {
      await refresh();
      if (!isStillNeeded()) return;
      const id = createKeyId();
      const wrapped = sealBox(master, randomBytes(32), wrapContext(id));
      await tx.updateTable('data_key').set({ is_current: 0 }).execute();
      await tx
        .insertInto('data_key')
        .values({
          id,
          master_key_id: masterKeyId(master),
          wrapped_key: wrapped,
          is_current: 1,
          created_at: clock.now().getTime(),
        })
        .execute();
    });
    await refresh();
  }

  await refresh();
  const isStale = (): boolean =>
    current.id === '' || clock.now().getTime() - current.createdAt > dataKeyLifetimeMs;
  if (isStale()) await addDataKey(isStale);

  const vault = createVaultOver({
    get currentId() {
      return current.id;
    },
    find(keyId) {
      const key = keys.get(keyId);
      // Another process may have made it since; whoever tries again finds it then.
      if (key === undefined) refresh().catch(() => {});
      return key;
    },
  });
  return {
    get keyId() {
      return current.id;
    },
    seal: (plain, context) => vault.seal(plain, context),
    open: (sealed, context) => vault.open(sealed, context),
    refresh,
    async rotateDataKey() {
      await addDataKey(() => true);
      return current.id;
    },
    async rewrap(newMasterKey) {
      await storage.transaction((tx: Kysely<VaultTables>) => rewrapAll(tx, master, newMasterKey));
      master = newMasterKey;
      return keys.size;
    },
  };
}

async function rewrapAll(tx: Kysely<VaultTables>, from: MasterKey, to: MasterKey): Promise<void> {
  for (const row of await tx.selectFrom('data_key').selectAll().execute()) {
    const wrapped = sealBox(to, unwrap(from, row), wrapContext(row.id));
    await tx
      .updateTable('data_key')
      .set({ wrapped_key: wrapped, master_key_id: masterKeyId(to) })
      .where('id', '=', row.id)
      .execute();
  }
}

function unwrap(master: MasterKey, row: VaultTables['data_key']): Uint8Array {
  if (row.master_key_id === masterKeyId(master)) return openBox(master, row.wrapped_key, wrapContext(row.id));
  const text = `the data keys are under master key ${row.master_key_id}, not ${masterKeyId(master)}`;
  throw new PlatformError('PLATFORM_MASTER_KEY_INVALID', text);
}

function wrapContext(id: string): string {
  return `openhisp data key ${id}`;
}
