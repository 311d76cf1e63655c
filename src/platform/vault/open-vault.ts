import { randomBytes, type KeyObject } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { masterKeyId, type MasterKey } from './master-key.ts';
import { decryptAead, prepareKey, encryptAead } from './aead.ts';
import { createKeyId, createVaultOver, type Vault } from './vault.ts';

interface DataKeyRow {
  id: string;
  master_key_id: string;
  wrapped_key: Uint8Array;
  is_current: number;
  created_at: number;
}

interface VaultTables {
  data_key: DataKeyRow;
}

/** A new data key is made when the current one is older than this. */
const dataKeyLifetimeMs = 90 * 24 * 3600 * 1000;

/** A vault whose data keys are in the database, wrapped by the master key. */
export interface StoredVault extends Vault {
  /** Reads the data keys again; another process may have added some. */
  refresh(): Promise<void>;
  /** Makes a new data key, which encrypts new values. Existing values stay readable. */
  rotateDataKey(): Promise<string>;
  /**
   * Wraps every data key with a new master key. Afterwards only the new one opens the vault; nodes that were
   * opened with both continue.
   */
  rewrap(newMasterKey: MasterKey): Promise<number>;
}

export interface VaultOptions {
  readonly storage: Storage;
  readonly masterKey: MasterKey;
  /** Also accepted, while the nodes of a deployment change from one master key to the other. */
  readonly previousMasterKey?: MasterKey | undefined;
  readonly clock: Clock;
}

/** True if the database may contain encrypted values: a new master key could decrypt none of them. */
export async function hasDataKeys(storage: Storage): Promise<boolean> {
  const row = await storage
    .tables<VaultTables>()
    .selectFrom('data_key')
    .select('id')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Loads the data keys, or makes the first. Throws PLATFORM_MASTER_KEY_INVALID if they are wrapped with
 * another master key.
 */
export async function openVault({
  storage,
  masterKey,
  previousMasterKey,
  clock,
}: VaultOptions): Promise<StoredVault> {
  const keys = new Map<string, KeyObject>();
  const masters = new Map(
    [masterKey, previousMasterKey].flatMap((key) => (key ? [[masterKeyId(key), key]] : [])),
  );
  let current = { id: '', createdAt: 0 };

  function accept(rows: readonly DataKeyRow[]): void {
    for (const row of rows) {
      if (!keys.has(row.id)) keys.set(row.id, prepareKey(unwrap(masters, row)));
      if (row.is_current === 1) current = { id: row.id, createdAt: row.created_at };
    }
  }

  async function refresh(): Promise<void> {
    accept(await readKeys(storage.tables<VaultTables>()).execute());
  }

  /**
   * `isNeeded` looks at the current key as it is under the lock: another node may have made one in the
   * meantime.
   */
  async function addDataKey(isNeeded: (current: DataKeyRow | undefined) => boolean): Promise<void> {
    await retryOnce(() =>
      storage.transaction(async (tx: Kysely<VaultTables>) => {
        const rows = await lockKeys(storage, tx);
        const found = rows.find((row) => row.is_current === 1);
        if (!isNeeded(found)) return;
        const id = createKeyId();
        // Under the master key of the other data keys: until they are wrapped again, some nodes may have only
        // that one.
        const master = found === undefined ? masterKey : requireMaster(masters, found);
        // By its id, so that a key that another node has made since then violates the unique index.
        if (found !== undefined)
          await tx.updateTable('data_key').set({ is_current: 0 }).where('id', '=', found.id).execute();
        await tx
          .insertInto('data_key')
          .values({
            id,
            master_key_id: masterKeyId(master),
            wrapped_key: encryptAead(master, randomBytes(32), wrapContext(id)),
            is_current: 1,
            created_at: clock.now().getTime(),
          })
          .execute();
      }),
    );
    await refresh();
  }

  const isStale = (row: Pick<DataKeyRow, 'created_at'> | undefined): boolean =>
    row === undefined || clock.now().getTime() - row.created_at > dataKeyLifetimeMs;
  await refresh();
  if (isStale(current.id === '' ? undefined : { created_at: current.createdAt })) await addDataKey(isStale);

  const vault = createVaultOver({
    get currentId() {
      return current.id;
    },
    find(keyId) {
      const key = keys.get(keyId);
      // Another process may have made it since; a retry then finds it.
      if (key === undefined) refresh().catch(() => {});
      return key;
    },
  });
  return {
    get keyId() {
      return current.id;
    },
    encrypt: (plain, context) => vault.encrypt(plain, context),
    decrypt: (encrypted, context) => vault.decrypt(encrypted, context),
    mac: (data, context) => vault.mac(data, context),
    requireMac: (mac, data, context) => vault.requireMac(mac, data, context),
    deriveKey: (keyId, purpose) => vault.deriveKey(keyId, purpose),
    refresh,
    async rotateDataKey() {
      await addDataKey(() => true);
      return current.id;
    },
    async rewrap(newMasterKey) {
      const count = await storage.transaction(async (tx: Kysely<VaultTables>) => {
        const rows = await lockKeys(storage, tx);
        await rewrapAll(tx, rows, masters, newMasterKey);
        return rows.length;
      });
      masters.set(masterKeyId(newMasterKey), newMasterKey);
      await refresh();
      return count;
    },
  };
}

type Masters = ReadonlyMap<string, MasterKey>;

/** All data keys, locked. They are read after the lock: its previous holder may have added one. */
async function lockKeys(storage: Storage, tx: Kysely<VaultTables>): Promise<readonly DataKeyRow[]> {
  await storage
    .forUpdate(tx.selectFrom('data_key').select('id').orderBy('created_at').orderBy('id'))
    .execute();
  return readKeys(tx).execute();
}

function readKeys(db: Kysely<VaultTables>) {
  return db.selectFrom('data_key').selectAll().orderBy('created_at').orderBy('id');
}

/** The first data key has no row to lock: of two nodes that make one, the second gets a unique violation. */
async function retryOnce(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_DUPLICATE')) throw error;
    await work();
  }
}

async function rewrapAll(
  tx: Kysely<VaultTables>,
  rows: readonly DataKeyRow[],
  masters: Masters,
  to: MasterKey,
): Promise<void> {
  const known = new Map(masters).set(masterKeyId(to), to);
  for (const row of rows) {
    const wrapped = encryptAead(to, unwrap(known, row), wrapContext(row.id));
    await tx
      .updateTable('data_key')
      .set({ wrapped_key: wrapped, master_key_id: masterKeyId(to) })
      .where('id', '=', row.id)
      .execute();
  }
}

function unwrap(masters: Masters, row: DataKeyRow): Uint8Array {
  return decryptAead(requireMaster(masters, row), row.wrapped_key, wrapContext(row.id));
}

function requireMaster(masters: Masters, row: DataKeyRow): MasterKey {
  const master = masters.get(row.master_key_id);
  if (master !== undefined) return master;
  const text = `the data keys are wrapped with master key ${row.master_key_id}, not ${[...masters.keys()].join(' or ')}: name its file in vault.masterKeyFile, or set vault.masterKey`;
  throw new PlatformError('PLATFORM_MASTER_KEY_INVALID', text);
}

function wrapContext(id: string): string {
  return `openhisp data key ${id}`;
}
