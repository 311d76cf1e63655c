import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import type { Kysely } from 'kysely';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, sliceBytes } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { createVault, type Vault } from '../vault/vault.ts';
import { createContentStore, type ContentStore } from './content-store.ts';
import { readReference } from './reference.ts';
import type { ContentTables } from './content-store.ts';

const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
let storage: Storage;
let db: Kysely<ContentTables>;
let vault: Vault;
let contents: ContentStore;

before(async () => {
  storage = await openTestStorage();
  db = storage.tables<ContentTables>();
  vault = createVault(randomBytes(32));
  contents = createContentStore({ storage, vault, clock });
});
beforeEach(async () => {
  await db.deleteFrom('content_part').execute();
  await db.deleteFrom('content').execute();
});
after(async () => {
  await storage.close();
});

const keep = (stored: Uint8Array) =>
  storage.transaction((tx: Kysely<unknown>) => contents.keepIn(tx, stored));
const release = (stored: Uint8Array) =>
  storage.transaction((tx: Kysely<unknown>) => contents.releaseIn(tx, stored));
const countChunks = async (): Promise<number> =>
  (await db.selectFrom('content_part').select('position').execute()).length;
const idOf = (stored: Uint8Array): string => readReference(stored)?.id ?? '';
const isBroken = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'PLATFORM_SEAL_BROKEN';
const isMissing = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'PLATFORM_CONTENT_MISSING';
/** Three chunks with different bytes. */
const threeChunks = (): Buffer => randomBytes(2 * sliceBytes + 1000);

describe('contents of every size', () => {
  const sizes = [0, 1, sliceBytes - 1, sliceBytes, sliceBytes + 1, 2 * sliceBytes, 2 * sliceBytes + 1];

  for (const size of sizes)
    test(`${size} bytes are read back unchanged and stored encrypted`, async () => {
      const plain = randomBytes(size);
      const stored = await contents.write(plain, 'place:1');
      assert.equal(await countChunks(), size <= sliceBytes ? 0 : Math.ceil(size / sliceBytes));
      assert.ok(plain.equals(await contents.open(stored, 'place:1')));
      const rows = await db.selectFrom('content_part').select('sealed').execute();
      const start = plain.subarray(0, 32);
      if (size >= 32)
        for (const bytes of [stored, ...rows.map((row) => row.sealed)])
          assert.equal(Buffer.from(bytes).includes(start), false);
    });

  test('any size up to four chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 4 * sliceBytes }), async (size) => {
        const plain = randomBytes(size);
        assert.ok(plain.equals(await contents.open(await contents.write(plain, 'place:1'), 'place:1')));
      }),
      { numRuns: 10 },
    );
  });

  test('a value that was sealed into the row before there were chunks still opens', async () => {
    const plain = threeChunks();
    assert.ok(plain.equals(await contents.open(vault.encrypt(plain, 'place:1'), 'place:1')));
  });

  test('opened content has separate memory, so that it can be transferred to a thread', async () => {
    for (const plain of [randomBytes(100_000), threeChunks()]) {
      const opened = await contents.open(await contents.write(plain, 'place:1'), 'place:1');
      assert.equal(opened.buffer.byteLength, opened.length);
    }
  });
});

describe('chunks stay in their place', () => {
  test('in another context nothing opens', async () => {
    const stored = await contents.write(threeChunks(), 'place:1');
    await assert.rejects(contents.open(stored, 'place:2'), isBroken);
  });

  test('two chunks that changed places are found', async () => {
    const stored = await contents.write(threeChunks(), 'place:1');
    const move = (from: number, to: number) =>
      db.updateTable('content_part').set({ position: to }).where('position', '=', from).execute();
    await move(0, 9);
    await move(1, 0);
    await move(9, 1);
    await assert.rejects(contents.open(stored, 'place:1'), isBroken);
  });

  test('a chunk of another content is found, also of one in the same place', async () => {
    const stored = await contents.write(threeChunks(), 'place:1');
    const other = await contents.write(threeChunks(), 'place:1');
    const { sealed } = await db
      .selectFrom('content_part')
      .select('sealed')
      .where('content_id', '=', idOf(other))
      .where('position', '=', 1)
      .executeTakeFirstOrThrow();
    await db
      .updateTable('content_part')
      .set({ sealed })
      .where('content_id', '=', idOf(stored))
      .where('position', '=', 1)
      .execute();
    await assert.rejects(contents.open(stored, 'place:1'), isBroken);
    assert.ok(await contents.open(other, 'place:1'));
  });

  test('a chunk left out is found, in the middle and at the end, also if the reference is made to fit', async () => {
    const stored = Buffer.from(await contents.write(threeChunks(), 'place:1'));
    await db.deleteFrom('content_part').where('position', '=', 2).execute();
    await assert.rejects(contents.open(stored, 'place:1'), isMissing);
    const shorter = Buffer.from(stored);
    shorter.writeUIntBE(2 * sliceBytes, 17, 6);
    await assert.rejects(contents.open(shorter, 'place:1'), isBroken);
    await db.deleteFrom('content_part').where('position', '=', 1).execute();
    await assert.rejects(contents.open(stored, 'place:1'), isMissing);
  });

  test('a flipped bit anywhere in a chunk is found', async () => {
    const stored = await contents.write(threeChunks(), 'place:1');
    const last = db.selectFrom('content_part').select('sealed').where('position', '=', 2);
    const { sealed } = await last.executeTakeFirstOrThrow();
    for (const at of [0, 1, 9, 21, 500, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await db.updateTable('content_part').set({ sealed: changed }).where('position', '=', 2).execute();
      await assert.rejects(contents.open(stored, 'place:1'), PlatformError, `byte ${at}`);
    }
  });

  test('a reference to nothing, and one of any bytes, opens nothing', async () => {
    const stored = Buffer.from(await contents.write(threeChunks(), 'place:1'));
    stored[5] = (stored[5] ?? 0) ^ 1;
    await assert.rejects(contents.open(stored, 'place:1'), isMissing);
    await assert.rejects(contents.open(Buffer.of(2, 1, 1), 'place:1'), isBroken);
  });
});

describe('owners', () => {
  test('a content without an owner is deleted after an hour, one with an owner stays', async () => {
    const kept = await contents.write(threeChunks(), 'place:1');
    const orphan = await contents.write(threeChunks(), 'place:2');
    await keep(kept);
    assert.equal(await contents.sweep(), 0);
    clock.advance(3_600_000);
    assert.equal(await contents.sweep(), 1);
    assert.equal(await countChunks(), 3);
    await assert.rejects(contents.open(orphan, 'place:2'), isMissing);
    await assert.rejects(keep(orphan), isMissing);
    assert.equal((await contents.open(kept, 'place:1')).length, 2 * sliceBytes + 1000);
  });

  test('an owner that was rolled back leaves an orphan', async () => {
    const stored = await contents.write(threeChunks(), 'place:1');
    await assert.rejects(
      storage.transaction(async (tx: Kysely<unknown>) => {
        await contents.keepIn(tx, stored);
        throw new Error('no');
      }),
    );
    clock.advance(3_600_000);
    assert.equal(await contents.sweep(), 1);
  });

  test('deletes released content at the next sweep, after its transaction is committed', async () => {
    const stored = await contents.write(threeChunks(), 'place:1');
    await keep(stored);
    await release(stored);
    assert.ok(await contents.open(stored, 'place:1'));
    assert.equal(await contents.sweep(), 1);
    assert.equal(await countChunks(), 0);
    assert.deepEqual(await db.selectFrom('content').selectAll().execute(), []);
  });

  test('a small one needs no keeping and no releasing', async () => {
    const stored = await contents.write(randomBytes(1000), 'place:1');
    await keep(stored);
    await release(stored);
    assert.equal((await contents.open(stored, 'place:1')).length, 1000);
  });

  test('a large one cannot be written inside a transaction, which would wait for itself', async () => {
    await assert.rejects(
      storage.transaction(async () => contents.write(threeChunks(), 'place:1')),
      (error: unknown) => error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_NESTED',
    );
  });
});
