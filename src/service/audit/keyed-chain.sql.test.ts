import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import { createManualClock, silentLog, type ManualClock } from '../../core/index.ts';
import { createVault, type Storage, type Vault } from '../../platform/index.ts';
import { createMigratedDatabase, isPostgres, type TestDatabase } from '../../../test/support/storage.ts';
import { chainStart, hashRow, type AuditRow, type AuditTables } from './chain.ts';
import { appendToCheckpointFile, readCheckpointFile, renameCheckpointFile } from './checkpoint-file.ts';
import { createAudit, type Audit } from './create-audit.ts';
import { AuditError, type AuditErrorCode } from './errors.ts';
import { readStatement, statementTypes, type Checkpoint } from './statements.ts';

interface World {
  readonly audit: Audit;
  readonly storage: Storage;
  readonly database: TestDatabase;
  readonly clock: ManualClock;
  readonly vault: Vault;
  /** Another process over the same database. */
  open(vault?: Vault): Promise<Audit>;
}

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const database = await createMigratedDatabase();
  const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
  const vault = createVault(randomBytes(32));
  const opened: { audit: Audit; storage: Storage }[] = [];
  const open = async (own: Vault = vault) => {
    const storage = await database.open();
    await storage.migrate();
    const audit = createAudit({ storage, vault: own, clock, log: silentLog });
    opened.push({ audit, storage });
    return { audit, storage };
  };
  try {
    const { audit, storage } = await open();
    await work({ audit, storage, database, clock, vault, open: async (own) => (await open(own)).audit });
  } finally {
    for (const one of opened) {
      await one.audit.close();
      await one.storage.close();
    }
  }
}

async function add(audit: Audit, count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await audit.recordNow({ action: 'a', outcome: 'ok', objects: { index } });
}

const refusedAs = (code: AuditErrorCode, text?: RegExp) => (error: unknown) =>
  error instanceof AuditError && error.code === code && (text === undefined || text.test(error.message));
const isBroken = refusedAs('AUDIT_CHAIN_BROKEN');

/** Attacks by somebody who can write to the database as its owner. */
async function dropGuards({ database }: World): Promise<void> {
  for (const name of ['audit_event_unchanged', 'audit_event_kept'])
    await database.runRaw(`drop trigger ${name}${isPostgres ? ' on audit_event' : ''}`);
}

const tables = ({ storage }: World): Kysely<AuditTables> => storage.tables<AuditTables>();

/**
 * Writes the chain again from a row on, as the program of the world does it, but with the hash function of an
 * outsider.
 */
async function rehash(
  world: World,
  from: number,
  authenticate: Parameters<typeof hashRow>[1],
): Promise<void> {
  const rows = await tables(world).selectFrom('audit_event').selectAll().orderBy('sequence').execute();
  let previous: Uint8Array = rows.find(({ sequence }) => sequence === from - 1)?.hash ?? chainStart;
  for (const row of rows.filter(({ sequence }) => sequence >= from)) {
    const changed: AuditRow = { ...row, action: 'forged', previous_hash: previous };
    previous = hashRow(changed, authenticate);
    await tables(world)
      .updateTable('audit_event')
      .set({ action: 'forged', previous_hash: changed.previous_hash, hash: previous })
      .where('sequence', '=', row.sequence)
      .execute();
  }
}

test('the first row of a new database begins the chain and names its key', () =>
  withWorld(async ({ audit }) => {
    assert.equal(await audit.hasBegun(), false);
    await assert.rejects(audit.readPublicKey(), isBroken);
    await audit.begin();
    await audit.begin();
    assert.equal(await audit.hasBegun(), true);
    await add(audit, 3);
    const [first] = await audit.find({ action: 'audit.begin' });
    assert.equal(first?.sequence, 1);
    assert.equal(first?.objects['publicKey'], (await audit.readPublicKey()).kid);
    assert.equal((await audit.verifyChain()).eventCount, 4);
  }));

test('another process continues in the chain, and two that begin at once begin once', () =>
  withWorld(async ({ audit, open }) => {
    const other = await open();
    await Promise.all([audit.begin(), other.begin()]);
    await Promise.all([add(other, 5), add(audit, 5)]);
    assert.equal((await other.verifyChain()).eventCount, 11);
    assert.equal((await other.find({ action: 'audit.begin' })).length, 1);
  }));

test('a tail that was hashed again without the key is detected', async () => {
  const outsider = (...chunks: readonly (Uint8Array | string)[]): Buffer =>
    chunks
      .reduce<ReturnType<typeof createHash>>((hash, part) => hash.update(part), createHash('sha256'))
      .digest();
  for (const from of [1, 3]) {
    await withWorld(async (world) => {
      await world.audit.begin();
      await add(world.audit, 5);
      await dropGuards(world);
      await rehash(world, from, outsider);
      await assert.rejects(
        world.audit.verifyChain(),
        refusedAs('AUDIT_CHAIN_BROKEN', new RegExp(`event ${from} `)),
      );
    });
  }
});

test('a forger who changes the row that names the key, or takes its key for his own, is found', async () => {
  await withWorld(async (world) => {
    await add(world.audit, 3);
    await tables(world).updateTable('audit_chain').set({ chain_id: 'other' }).execute();
    await assert.rejects(world.audit.verifyChain(), isBroken);
    // With the vault of his own installation.
    const foreign = createVault(randomBytes(32));
    const mac = foreign.mac(Buffer.from('[]'), 'audit-chain');
    await tables(world).updateTable('audit_chain').set({ mac }).execute();
    await assert.rejects(world.audit.verifyChain(), isBroken);
    const fresh = await world.open();
    await assert.rejects(fresh.recordNow({ action: 'a', outcome: 'ok' }), isBroken);
  });
});

test('a chain whose key was deleted gets no other one', () =>
  withWorld(async (world) => {
    await add(world.audit, 3);
    await world.database.runRaw('delete from audit_chain');
    const fresh = await world.open();
    await assert.rejects(fresh.begin(), refusedAs('AUDIT_CHAIN_RESET'));
    await assert.rejects(add(fresh, 1), refusedAs('AUDIT_CHAIN_RESET'));
    assert.equal(await fresh.hasBegun(), false);
    await assert.rejects(fresh.verifyChain(), isBroken);
  }));

test('missing rows at the front, at the end, or all of them: each is found', async () => {
  const cuts = ['sequence <= 2', 'sequence > 4', 'sequence = 6', 'sequence > 0'];
  for (const cut of cuts) {
    await withWorld(async (world) => {
      await world.audit.begin();
      await add(world.audit, 5);
      await world.audit.signCheckpoint();
      const report = await world.audit.verifyChain();
      assert.deepEqual([report.eventCount, report.checkpointCount, report.coveredTo], [6, 1, 6]);
      await dropGuards(world);
      await world.database.runRaw(`delete from audit_event where ${cut}`);
      await assert.rejects(world.audit.verifyChain(), isBroken, cut);
      await assert.rejects(world.audit.signCheckpoint(), isBroken, cut);
    });
  }
});

test('an end that was cut off together with its checkpoint is found by a checkpoint kept elsewhere', () =>
  withWorld(async (world) => {
    const { audit, database } = world;
    const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-checkpoints-'));
    const file = path.join(folder, 'audit.jws');
    await audit.begin();
    for (let round = 0; round < 2; round++) {
      await add(audit, 3);
      await appendToCheckpointFile(file, (await audit.signCheckpoint())?.statement ?? '');
    }
    assert.equal(await audit.signCheckpoint(), undefined);
    const kept = await readCheckpointFile(file);
    assert.equal((await audit.verifyChain(kept)).checkpointCount, 2);
    await dropGuards(world);
    await database.runRaw('delete from audit_event where sequence > 4');
    await tables(world)
      .updateTable('audit_checkpoint')
      .set({ statement: kept[0] ?? '' })
      .execute();
    assert.equal((await audit.verifyChain(kept.slice(0, 1))).eventCount, 4);
    await assert.rejects(
      audit.verifyChain(kept),
      refusedAs('AUDIT_CHAIN_BROKEN', /events after 4 are missing/),
    );
    const renamed = await renameCheckpointFile(file, new Date('2026-05-01T00:00:00Z'));
    assert.equal(renamed, `${file}.20260501T000000000Z`);
    assert.deepEqual(await readCheckpointFile(file), []);
    rmSync(folder, { recursive: true, maxRetries: 5 });
  }));

test('a checkpoint that is forged, of another chain or of another kind is refused', () =>
  withWorld(async (world) => {
    await world.audit.begin();
    await add(world.audit, 1);
    const own = (await world.audit.signCheckpoint())?.statement ?? '';
    const [head = '', payload = '', signature = ''] = own.split('.');
    const key = Buffer.from((await world.audit.readPublicKey()).x, 'base64url');
    const read = await readStatement<Checkpoint>(statementTypes.checkpoint, own, key);
    assert.equal(read.last.sequence, 2);
    const forged = Buffer.from(payload, 'base64url').toString().replace('"sequence":2', '"sequence":1');
    const encode = (text: string): string => Buffer.from(text).toString('base64url');
    const bad = [
      `${head}.${encode(forged)}.${signature}`,
      `${encode('{"alg":"none","typ":"openhisp-audit-checkpoint+jws"}')}.${payload}.`,
      `${head}.${payload}.`,
      `${own}.`,
      'nonsense',
    ];
    for (const statement of bad)
      await assert.rejects(
        world.audit.verifyChain([statement]),
        refusedAs('AUDIT_STATEMENT_INVALID'),
        statement,
      );
    await assert.rejects(readStatement(statementTypes.start, own, key), refusedAs('AUDIT_STATEMENT_INVALID'));
    await withWorld(async (other) => {
      await other.audit.begin();
      await add(other.audit, 1);
      await assert.rejects(other.audit.verifyChain([own]), refusedAs('AUDIT_STATEMENT_INVALID'));
    });
  }));

test('after old rows were deleted a signed statement states the first row, and no other first row is accepted', () =>
  withWorld(async (world) => {
    const { audit, storage, clock } = world;
    const day = 86_400_000;
    clock.advance(new Date('2008-01-01T00:00:00Z').getTime() - clock.now().getTime());
    await audit.begin();
    await add(audit, 4);
    await audit.signCheckpoint();
    clock.advance(2193 * day);
    await add(audit, 2);
    assert.equal(await audit.deleteOld(), 5);
    const report = await audit.verifyChain();
    assert.deepEqual([report.firstSequence, report.lastSequence], [6, 7]);
    const { checkpoint } = (await audit.signCheckpoint()) ?? {};
    assert.equal(checkpoint?.first.sequence, 6);
    await dropGuards(world);
    await storage.transaction(async (tx: Kysely<AuditTables>) => {
      const row = await tx
        .selectFrom('audit_event')
        .selectAll()
        .where('sequence', '=', 6)
        .executeTakeFirstOrThrow();
      await tx.deleteFrom('audit_event').where('sequence', '=', 6).execute();
      await tx.updateTable('audit_start').set({ sequence: 7, previous_hash: row.hash }).execute();
    });
    await assert.rejects(audit.verifyChain(), isBroken);
    await tables(world).updateTable('audit_start').set({ statement: '' }).execute();
    await assert.rejects(audit.verifyChain(), refusedAs('AUDIT_STATEMENT_INVALID'));
  }));

test('several nodes take turns: no new checkpoint while the newest is young', () =>
  withWorld(async ({ audit, clock, open }) => {
    await audit.begin();
    const other = await open();
    await audit.signCheckpoint({ leastAgeMs: 60_000 });
    await add(audit, 1);
    assert.equal(await other.signCheckpoint({ leastAgeMs: 60_000 }), undefined);
    clock.advance(60_000);
    assert.equal((await other.signCheckpoint({ leastAgeMs: 60_000 }))?.checkpoint.last.sequence, 2);
    assert.equal((await audit.lastCheckpoint())?.checkpoint.last.sequence, 2);
  }));
