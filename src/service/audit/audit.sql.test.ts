import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import { createManualClock, silentLog, type ManualClock } from '../../core/index.ts';
import { createVault, type Storage } from '../../platform/index.ts';
import { createMigratedDatabase, isPostgres, type TestDatabase } from '../../../test/support/storage.ts';
import { createLegalHolds, type LegalHoldTables } from '../legal-hold/index.ts';
import type { AuditTables } from './chain.ts';
import { createAudit, type Audit } from './create-audit.ts';
import type { AuditEvent } from './audit-event.ts';
import { AuditError } from './errors.ts';
import { runFrom } from './origin.ts';

async function withAudit(
  work: (audit: Audit, storage: Storage, database: TestDatabase, clock: ManualClock) => Promise<void>,
): Promise<void> {
  const database = await createMigratedDatabase();
  const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
  const storage = await database.open();
  await storage.migrate();
  const audit = createAudit({ storage, vault: createVault(Buffer.alloc(32, 1)), clock, log: silentLog });
  try {
    await work(audit, storage, database, clock);
  } finally {
    await audit.close();
    await storage.close();
  }
}

const event = (action: string, objects: AuditEvent['objects'] = {}): AuditEvent => ({
  action,
  outcome: 'ok',
  actor: 'client-1',
  objects,
});
const isBroken = (error: unknown): boolean =>
  error instanceof AuditError && error.code === 'AUDIT_CHAIN_BROKEN';

const dropTrigger = (name: string): string => `drop trigger ${name}${isPostgres ? ' on audit_event' : ''}`;

test('SEC-03: a record contains time, actor, action, objects, outcome, request and address', () =>
  withAudit(async (audit) => {
    await audit.recordNow({
      ...event('message.accept', { messageId: 'm1', count: 2 }),
      requestId: 'r1',
      remoteAddress: '192.0.2.1',
    });
    assert.deepEqual(await audit.find({}), [
      {
        sequence: 1,
        recordedAt: new Date('2026-05-01T00:00:00Z'),
        action: 'message.accept',
        actor: 'client-1',
        outcome: 'ok',
        objects: { count: 2, messageId: 'm1' },
        requestId: 'r1',
        remoteAddress: '192.0.2.1',
        channel: 'api',
        login: undefined,
        isClaimed: false,
        session: undefined,
      },
    ]);
  }));

test('a row of an operator says where it came from, also in a shared transaction; work of the service does not', () =>
  withAudit(async (audit, storage) => {
    const from = (login: string, action: string) =>
      runFrom({ channel: 'command', login, isClaimed: login !== 'root' }, () =>
        storage.transaction(async (tx: Kysely<unknown>) => {
          await audit.as('operator:Ann Lee').recordIn(tx, { action, actor: 'operator', outcome: 'ok' });
          await audit.recordIn(tx, { action: 'message.sent', actor: 'system', outcome: 'ok' });
        }),
      );
    await Promise.all([from('root', 'client.create'), from('lee', 'client.update')]);
    assert.deepEqual(
      // Transactions of the same moment have no order.
      (await audit.find({}))
        .map(({ action, actor, channel, login, isClaimed }) =>
          [action, actor, channel, login, isClaimed].join(' '),
        )
        .sort(),
      [
        'client.create operator:Ann Lee command root false',
        'client.update operator:Ann Lee command lee true',
        'message.sent system service  false',
        'message.sent system service  false',
      ],
    );
    assert.equal((await audit.find({ isChange: true })).length, 2);
  }));

test('an event in a transaction stands or falls with it', () =>
  withAudit(async (audit, storage) => {
    await assert.rejects(
      storage.transaction(async (tx: Kysely<unknown>) => {
        await audit.recordIn(tx, event('a'));
        throw new Error('no');
      }),
    );
    await storage.transaction(async (tx: Kysely<unknown>) => {
      await Promise.all([audit.recordIn(tx, event('b')), audit.recordIn(tx, event('c'))]);
      await audit.record(event('d'));
    });
    await audit.flush();
    assert.deepEqual(
      (await audit.find({})).map((record) => record.action),
      ['d', 'c', 'b'],
    );
    assert.equal((await audit.verifyChain()).eventCount, 3);
  }));

test('searches are written together, in their order, and an event never waits', () =>
  withAudit(async (audit) => {
    for (let count = 0; count < 3000; count++) await audit.record(event('directory.search', { count }));
    await audit.flush();
    const report = await audit.verifyChain();
    assert.deepEqual([report.eventCount, report.firstSequence, report.lastSequence], [3000, 1, 3000]);
    assert.deepEqual(
      (await audit.find({ limit: 2 })).map((record) => record.objects['count']),
      [2999, 2998],
    );
    assert.equal((await audit.find({ before: 11, limit: 5 }))[0]?.sequence, 10);
  }));

test(
  'after a failover that lost the last events, the chain of what the nodes append is unbroken',
  { skip: isPostgres ? false : 'several nodes need PostgreSQL' },
  () =>
    withAudit(async (audit, _storage, database, clock) => {
      const storage = await database.open();
      const other = createAudit({ storage, vault: createVault(Buffer.alloc(32, 1)), clock, log: silentLog });
      for (const action of ['kept', 'lost', 'lost']) await audit.recordNow(event(action));
      // A replica that lagged becomes the primary.
      await database.runRaw('alter table audit_event disable trigger all');
      await database.runRaw('delete from audit_event where sequence > 1');
      await database.runRaw('alter table audit_event enable trigger all');
      for (const action of ['b', 'b']) await other.recordNow(event(action));
      await audit.recordNow(event('a'));
      assert.equal((await audit.verifyChain()).eventCount, 4);
      await other.close();
      await storage.close();
    }),
);

test('many events written by the thread and single ones in transactions make one chain', () =>
  withAudit(async (audit, storage) => {
    const singles: Promise<unknown>[] = [];
    for (let count = 0; count < 5000; count++) {
      await audit.record(event('directory.search', { count }));
      if (count % 1000 !== 999) continue;
      singles.push(audit.flush());
      singles.push(storage.transaction((tx: Kysely<unknown>) => audit.recordIn(tx, event('single'))));
      singles.push(audit.recordNow(event('single')));
    }
    await Promise.all(singles);
    assert.equal((await audit.verifyChain()).eventCount, 5010);
    assert.equal((await audit.find({ action: 'single', limit: 100 })).length, 10);
    const searches = [...(await audit.find({ action: 'directory.search', limit: 1000 }))].reverse();
    assert.deepEqual(
      searches.map(({ objects }) => objects['count']),
      Array.from({ length: 1000 }, (_, index) => 4000 + index),
    );
  }));

test('a concealed value shows only whether it is equal to another, whether few rows are written or many', () =>
  withAudit(async (audit, _storage, database) => {
    const secret = 'ab'.repeat(32);
    const search = (value: string): AuditEvent => ({
      ...event('directory.search', { shown: 1 }),
      concealed: { secret, values: [['prov_last_name', value]] },
    });
    for (const many of [1, 100]) {
      for (let count = 0; count < many; count++) await audit.record(search('Featherstone'));
      await audit.record(search('FEATHERSTONE'));
      await audit.record(search('Cholmondeley'));
      await audit.flush();
    }
    const hashes = (await audit.find({ limit: 1000 })).map(({ objects }) => objects['prov_last_name']);
    assert.equal(hashes.length, 105);
    const expected = createHash('sha256').update(`${secret}featherstone`).digest('hex').slice(0, 16);
    assert.deepEqual([hashes[1], hashes[2], hashes.at(-1)], [expected, expected, expected]);
    assert.equal(new Set(hashes).size, 2);
    const stored = (await database.readAll()).toString('latin1');
    assert.ok(stored.includes(expected) && !/featherstone|cholmondeley/i.test(stored));
  }));

test('events can be found by action, actor, request and time', () =>
  withAudit(async (audit) => {
    await audit.record({ ...event('a'), requestId: 'r1' });
    await audit.record({ ...event('b'), actor: 'client-2' });
    assert.equal((await audit.find({ action: 'a' })).length, 1);
    assert.equal((await audit.find({ actor: 'client-2' }))[0]?.action, 'b');
    assert.equal((await audit.find({ requestId: 'r1' }))[0]?.action, 'a');
    assert.equal((await audit.find({ since: new Date('2026-05-01T00:00:01Z') })).length, 0);
  }));

test('an outsider cannot fill the disk: further refusals are counted in a later row', () =>
  withAudit(async (audit, _storage, _database, clock) => {
    const refused = { action: 'access.refuse', outcome: 'refused', remoteAddress: '192.0.2.1' } as const;
    for (let count = 0; count < 1000; count++) await audit.record(refused);
    await audit.record({ ...refused, remoteAddress: '192.0.2.2' });
    for (let count = 0; count < 300; count++) await audit.record({ ...refused, actor: 'client-1' });
    await audit.flush();
    assert.equal((await audit.verifyChain()).eventCount, 200 + 1 + 300);
    clock.advance(1000);
    await audit.record(refused);
    assert.deepEqual((await audit.find({ limit: 1 }))[0]?.objects, { suppressed: 800 });
  }));

test('long object values are truncated, so that callers cannot fill the log', () =>
  withAudit(async (audit) => {
    await audit.recordNow(event('a', { to: 'x'.repeat(5000) }));
    assert.equal(String((await audit.find({}))[0]?.objects['to']).length, 1001);
  }));

test('SEC-04: rows can be neither changed nor deleted by way of the database', () =>
  withAudit(async (audit, _storage, database) => {
    await audit.recordNow(event('a'));
    await assert.rejects(database.runRaw("update audit_event set action = 'b'"), /append-only/);
    await assert.rejects(database.runRaw('update audit_event set recorded_at = 0'), /append-only/);
    if (isPostgres) await assert.rejects(database.runRaw('truncate audit_event'), /append-only/);
    await database.runRaw(dropTrigger('audit_event_unchanged'));
    await database.runRaw(`update audit_event set recorded_at = ${Date.now()}`);
    await assert.rejects(database.runRaw('delete from audit_event'), /append-only/);
  }));

test('SEC-04: a changed, missing or re-ordered row is found, and the others are shown', async () => {
  const zeros = isPostgres ? "decode(repeat('00', 32), 'hex')" : 'zeroblob(32)';
  const tricks = [
    "update audit_event set objects = '{}' where sequence = 3",
    'update audit_event set recorded_at = recorded_at + 1 where sequence = 3',
    'delete from audit_event where sequence = 3',
    'update audit_event set sequence = 100 where sequence = 3',
    `update audit_event set hash = ${zeros} where sequence = 3`,
    `update audit_event set origin = '{"channel":"command"}' where sequence = 2`,
    `update audit_event set previous_hash = ${zeros} where sequence = 3`,
    ...['x', 'null', '[]'].map((text) => `update audit_event set objects = '${text}' where sequence = 3`),
    `update audit_event set origin = '[' where sequence = 3`,
  ];
  for (const trick of tricks) {
    await withAudit(async (audit, _storage, database) => {
      for (let count = 1; count <= 5; count++) await audit.recordNow(event('a', { count }));
      assert.equal((await audit.verifyChain()).eventCount, 5);
      await database.runRaw(dropTrigger('audit_event_unchanged'));
      await database.runRaw(dropTrigger('audit_event_kept'));
      await database.runRaw(trick);
      await assert.rejects(audit.verifyChain(), isBroken, trick);
      // It is found, and hides no other.
      const shown = (await audit.find({})).map(({ recordedAt }) => recordedAt.toISOString());
      assert.ok(shown.length >= 4, trick);
    });
  }
});

test('two processes append to one chain', () =>
  withAudit(async (audit, _storage, database) => {
    const program = `
      const { createVault, openStorage } = await import(${JSON.stringify(path.join(import.meta.dirname, '../../platform/index.ts'))});
      const { createAudit } = await import(${JSON.stringify(path.join(import.meta.dirname, 'index.ts'))});
      const storage = await openStorage(JSON.parse(process.argv[1]));
      const log = { error() {}, warn() {}, info() {}, debug() {} };
      const audit = createAudit({ storage, vault: createVault(Buffer.alloc(32, 1)), clock: { now: () => new Date() }, log });
      for (let count = 0; count < 50; count++) await audit.recordNow({ action: 'other', outcome: 'ok', objects: { count } });
      await audit.close();
      await storage.close();`;
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', program, JSON.stringify(database.location)],
      { stdio: 'inherit' },
    );
    const exited = once(child, 'exit');
    for (let count = 0; count < 50; count++) await audit.recordNow(event('own', { count }));
    assert.equal((await exited)[0], 0);
    assert.equal((await audit.verifyChain()).eventCount, 100);
  }));

test('keeps events that cannot be written, few or many, and writes them later', async () => {
  for (const many of [1, 200]) {
    await withAudit(async (audit, storage, database) => {
      await database.runRaw(
        isPostgres
          ? `create trigger stop before insert on audit_event for each row execute function refuse_audit_change()`
          : "create trigger stop before insert on audit_event begin select raise(abort, 'no'); end",
      );
      for (let count = 0; count < many; count++) await audit.record(event('a'));
      await audit.flush();
      await database.runRaw(dropTrigger('stop'));
      assert.deepEqual(
        await storage.tables<AuditTables>().selectFrom('audit_event').select('sequence').execute(),
        [],
      );
      await audit.record(event('b'));
      const written = await audit.find({ limit: 1000 });
      assert.equal(written[0]?.action, 'b');
      assert.equal(written.filter(({ action }) => action === 'a').length, many);
    });
  }
});

test('Decision 0034: while something is on legal hold, no event goes', () =>
  withAudit(async (audit, storage, _database, clock) => {
    clock.advance(new Date('2008-01-01T00:00:00Z').getTime() - clock.now().getTime());
    for (let index = 0; index < 2; index++) await audit.recordNow(event(`old.${index}`));
    const { id } = await createLegalHolds({
      storage,
      clock,
      author: 'operator:dana',
      recordIn: async () => {},
    }).add({ kind: 'address', subject: 'alice@direct.alpha.example', reason: 'Case 12' });
    clock.advance(2193 * 86_400_000);
    assert.equal(await audit.deleteOld(), 0);
    await storage
      .tables<LegalHoldTables>()
      .updateTable('legal_hold')
      .set({ released_at: 1 })
      .where('id', '=', id)
      .execute();
    assert.equal(await audit.deleteOld(), 1);
  }));

test('SEC-04: after six years the oldest events go, and the rest can still be verified', () =>
  withAudit(async (audit, storage, _database, clock) => {
    const day = 86_400_000;
    // The database itself refuses to delete what is younger than six years by the machine's clock.
    clock.advance(new Date('2008-01-01T00:00:00Z').getTime() - clock.now().getTime());
    for (let index = 0; index < 5; index++) await audit.recordNow(event(`old.${index}`));
    clock.advance(2192 * day);
    await audit.recordNow(event('new'));
    assert.equal(await audit.deleteOld(), 0);
    clock.advance(1);
    assert.equal(await audit.deleteOld(), 5);
    assert.equal(await audit.deleteOld(), 0);
    const report = await audit.verifyChain();
    assert.deepEqual([report.eventCount, report.firstSequence, report.lastSequence], [1, 6, 6]);
    await audit.recordNow(event('newer'));
    assert.equal((await audit.verifyChain()).eventCount, 2);
    // The newest row stays, since the chain continues from it.
    clock.advance(2193 * day);
    assert.equal(await audit.deleteOld(), 1);
    assert.deepEqual(
      (await audit.find({})).map(({ action }) => action),
      ['newer'],
    );
    await audit.verifyChain();
    // A chain whose beginning was cut off by somebody else is broken.
    await storage.tables<AuditTables>().updateTable('audit_start').set({ sequence: 3 }).execute();
    await assert.rejects(audit.verifyChain(), isBroken);
  }));
