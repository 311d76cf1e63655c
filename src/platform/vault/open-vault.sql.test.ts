import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { waitUntil } from '../../../test/support/processes.ts';
import { createManualClock } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { parseMasterKey, type MasterKey } from './master-key.ts';
import { openVault, type StoredVault } from './open-vault.ts';

const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
const newKey = (): MasterKey => parseMasterKey(randomBytes(32).toString('base64'));

async function withVaults(
  work: (open: (masterKey: MasterKey) => Promise<StoredVault>, storage: Storage) => Promise<void>,
): Promise<void> {
  const storage = await openTestStorage();
  try {
    await work((masterKey) => openVault({ storage, masterKey, clock }), storage);
  } finally {
    await storage.close();
  }
}

test('decrypts values of another process, and stores the data key wrapped', () =>
  withVaults(async (open, storage) => {
    const masterKey = newKey();
    const encrypted = (await open(masterKey)).encrypt(Buffer.from('content'), 'message:1');
    assert.equal(Buffer.from((await open(masterKey)).decrypt(encrypted, 'message:1')).toString(), 'content');
    const [row] = await storage
      .tables<{ data_key: { wrapped_key: Uint8Array } }>()
      .selectFrom('data_key')
      .select('wrapped_key')
      .execute();
    assert.ok(row !== undefined && row.wrapped_key.length > 32);
  }));

test('a rotated data key encrypts new values; older values stay readable', () =>
  withVaults(async (open) => {
    const masterKey = newKey();
    const vault = await open(masterKey);
    const [before, old] = [vault.keyId, vault.encrypt(Buffer.from('old'), 'c')];
    assert.notEqual(await vault.rotateDataKey(), before);
    const fresh = await open(masterKey);
    assert.equal(fresh.keyId, vault.keyId);
    assert.equal(Buffer.from(fresh.decrypt(old, 'c')).toString(), 'old');
  }));

test('a data key of another process is known after a refresh, and the first failure starts one', () =>
  withVaults(async (open) => {
    const masterKey = newKey();
    const [one, two] = [await open(masterKey), await open(masterKey)];
    await one.rotateDataKey();
    const encrypted = one.encrypt(Buffer.from('x'), 'c');
    assert.throws(
      () => two.decrypt(encrypted, 'c'),
      (error) => error instanceof PlatformError && error.code === 'PLATFORM_SEAL_KEY_UNKNOWN',
    );
    const opens = (): boolean => {
      try {
        return two.decrypt(encrypted, 'c').length > 0;
      } catch {
        return false;
      }
    };
    await waitUntil(opens, { what: 'the refresh' });
    assert.equal(Buffer.from(two.decrypt(encrypted, 'c')).toString(), 'x');
    await two.refresh();
    assert.equal(Buffer.from(two.decrypt(encrypted, 'c')).toString(), 'x');
  }));

test('an old data key is replaced at the next start', () =>
  withVaults(async (open) => {
    const masterKey = newKey();
    const first = (await open(masterKey)).keyId;
    assert.equal((await open(masterKey)).keyId, first);
    clock.advance(91 * 24 * 3600 * 1000);
    assert.notEqual((await open(masterKey)).keyId, first);
  }));

test('after a change of the master key only the new one opens the vault', () =>
  withVaults(async (open) => {
    const [oldKey, newMaster] = [newKey(), newKey()];
    const vault = await open(oldKey);
    const encrypted = vault.encrypt(Buffer.from('x'), 'c');
    await vault.rotateDataKey();
    assert.equal(await vault.rewrap(newMaster), 2);
    assert.equal(Buffer.from((await open(newMaster)).decrypt(encrypted, 'c')).toString(), 'x');
    await assert.rejects(
      open(oldKey),
      (error) => error instanceof PlatformError && error.code === 'PLATFORM_MASTER_KEY_INVALID',
    );
  }));
