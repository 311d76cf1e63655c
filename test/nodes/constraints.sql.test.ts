/** Reads followed by writes, from two nodes at the same moment: what must be one stays one. */
// needsOwnProcess: the nodes of races end with the first file.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { createManualClock, silentLog, systemClock } from '../../src/core/index.ts';
import {
  joinNodes,
  createVault,
  openVault,
  parseMasterKey,
  PlatformError,
  type Storage,
} from '../../src/platform/index.ts';
import { baselineStatements } from '../../src/platform/storage/baseline/index.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import { createOauth, type Oauth } from '../../src/service/oauth/index.ts';
import { createTrust, type Trust } from '../../src/service/trust/index.ts';
import { removeProvisioned, storeProvisioned } from '../../src/service/directory/store/provisioned.ts';
import { claimGeneration } from '../../src/service/directory/store/claim-generation.ts';
import { retireGenerations } from '../../src/service/directory/store/clear-loads.ts';
import {
  activateLoad,
  beginLoad,
  failLoad,
  reserveIds,
  storeBlocks,
} from '../../src/service/directory/store/loads.ts';
import { rollBack } from '../../src/service/directory/index.ts';
import { createSendLimit } from '../../src/service/messaging/send/limit-sends.ts';
import { defaultSource, planSource, setActive } from '../../src/service/directory/store/sources.ts';
import { getState, lockState, loadState, updateState } from '../../src/service/directory/store/state.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { openAuthority } from '../../src/app/dev/index.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createMigratedDatabase } from '../support/storage.ts';
import { roundsOf } from './race.ts';

interface Node {
  readonly storage: Storage;
  readonly audit: Audit;
}

/** Two nodes over one database. */
async function openNodes(t: TestContext): Promise<readonly [Node, Node]> {
  const database = await createMigratedDatabase();
  const nodes: Node[] = [];
  for (let index = 0; index < 2; index++) {
    // On SQLite a write of the other process is waited for.
    const storage = await database.open({ busyTimeoutMs: 60_000 });
    await storage.migrate();
    const vault = createVault(Buffer.alloc(32, 1));
    const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog, flushMs: 50 });
    nodes.push({ storage, audit });
  }
  t.after(async () => {
    for (const { audit, storage } of nodes) {
      await audit.close();
      await storage.close();
    }
  });
  return nodes as unknown as readonly [Node, Node];
}

function each<R>(nodes: readonly Node[], count: number, work: (node: Node, index: number) => Promise<R>) {
  return Promise.allSettled(
    Array.from({ length: count }, (_, index) => work(nodes[index % nodes.length] as Node, index)),
  );
}

const fulfilled = <R>(results: readonly PromiseSettledResult<R>[]): R[] =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));

const codesOf = (results: readonly PromiseSettledResult<unknown>[]): string[] =>
  results.flatMap((result) =>
    result.status === 'rejected' ? [String(result.reason?.code ?? result.reason)] : [],
  );

test('40 addresses provisioned at once on two nodes get 40 record ids and 40 revisions', async (t) => {
  const nodes = await openNodes(t);
  const rounds = roundsOf(5);
  for (let round = 0; round < rounds; round++) {
    const results = await each(nodes, 40, ({ storage, audit }, index) =>
      storeProvisioned(
        { storage, audit, clock: systemClock },
        { addressKey: `a${round}-${index}@direct.example`, line: `line ${index}` },
      ),
    );
    assert.deepEqual(codesOf(results), []);
  }
  const db = nodes[0].storage.tables<DirectoryTables>();
  const rows = await db.selectFrom('directory_provisioned').selectAll().execute();
  const count = 40 * rounds;
  assert.equal(rows.length, count);
  assert.equal(new Set(rows.map((row) => row.record_id)).size, count);
  assert.equal(new Set(rows.map((row) => row.revision)).size, count);
  const state = await getState(db);
  assert.equal(state.revision, count);
  assert.equal(state.next_record_id, count + 1);
});

test('one address added and removed by two nodes keeps its record id', async (t) => {
  const nodes = await openNodes(t);
  const addressKey = 'one@direct.example';
  const results = await each<unknown>(nodes, 100, ({ storage, audit }, index) =>
    index % 4 === 3
      ? removeProvisioned({ storage, audit, clock: systemClock }, addressKey)
      : storeProvisioned({ storage, audit, clock: systemClock }, { addressKey, line: `line ${index}` }),
  );
  assert.deepEqual(codesOf(results), []);
  const db = nodes[0].storage.tables<DirectoryTables>();
  const rows = await db.selectFrom('directory_provisioned').select('record_id').execute();
  assert.deepEqual(rows, [{ record_id: 1 }]);
});

test('record ids reserved at once by two nodes never overlap', async (t) => {
  const nodes = await openNodes(t);
  await loadState(nodes[0].storage);
  const firsts: number[] = [];
  const rounds = roundsOf(25);
  for (let round = 0; round < rounds; round++) {
    const results = await each(nodes, 40, ({ storage }) => reserveIds(storage, 10));
    assert.deepEqual(codesOf(results), []);
    firsts.push(...fulfilled(results));
  }
  assert.equal(new Set(firsts).size, 40 * rounds);
  assert.ok(firsts.every((first) => first % 10 === 1));
});

test('of loads that two nodes begin at once one runs, and the others are refused with the reason', async (t) => {
  const nodes = await openNodes(t);
  await loadState(nodes[0].storage);
  const start = { kind: 'full', format: 'csv', source: 'test', sourceName: 'default' } as const;
  for (let round = 0; round < roundsOf(50); round++) {
    const results = await each(nodes, 6, ({ storage }) =>
      beginLoad(storage, systemClock, start, { startedBy: 'operator' }),
    );
    assert.ok(codesOf(results).every((code) => code === 'DIRECTORY_LOAD_RUNNING'));
    const begun = fulfilled(results);
    // Clearing dead loads, which each does first, fails the ones of before: so the last one runs.
    assert.equal(new Set(begun.map(({ id }) => id)).size, begun.length);
    const loading = await nodes[0].storage
      .tables<DirectoryTables>()
      .selectFrom('directory_load')
      .select('id')
      .where('state', '=', 'loading')
      .execute();
    assert.equal(loading.length, 1);
    await failLoad(nodes[0].storage, systemClock, loading[0]?.id ?? 0, { ...start, recordCount: 0 });
  }
});

test('the database itself refuses a second load in progress and a second current data key', async (t) => {
  const [{ storage }] = await openNodes(t);
  await loadState(storage);
  const start = { kind: 'full', format: 'csv', source: 'test', sourceName: 'default' } as const;
  const { id } = await beginLoad(storage, systemClock, start, { startedBy: 'operator' });
  const isDuplicate = (error: unknown): boolean =>
    error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_DUPLICATE';
  const db = storage.tables<DirectoryTables & { data_key: Record<string, unknown> }>();
  const row = await db
    .selectFrom('directory_load')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  await assert.rejects(
    db
      .insertInto('directory_load')
      .values({ ...row, id: id + 1 })
      .execute(),
    isDuplicate,
  );
  const key = { id: 'a', master_key_id: 'm', wrapped_key: Buffer.alloc(60), is_current: 1, created_at: 1 };
  await db.insertInto('data_key').values(key).execute();
  await assert.rejects(
    db
      .insertInto('data_key')
      .values({ ...key, id: 'b' })
      .execute(),
    isDuplicate,
  );
});

test('the database itself refuses times, numbers and states that the program cannot read', async () => {
  const database = await createMigratedDatabase();
  const delivery = (kind: string, at: string) =>
    `insert into delivery (id, kind, sender, sealed_message, created_at)
    values ('${randomUUID()}', ${kind}, '', '', ${at})`;
  const mail = (state: string, at: string) =>
    `insert into inbound_mail (id, mail_from, recipients, sealed_mail, content_hash, network, sender_domain, party,
    needs_fetch, state, attempts, next_attempt_at, lease_until, last_error, received_at)
    values ('${randomUUID()}', '', '', '', '${randomUUID()}', '', '', '', 0, ${state}, 0, ${at}, 0, '', 0)`;
  const refused = /check|integer|bigint/i;
  for (const statement of [delivery("'mdn'", '8640000000000000'), mail("'dead-letter'", '-1')])
    await database.runRaw(statement);
  for (const statement of [
    delivery("'letter'", '0'),
    delivery("'mdn'", '8640000000000001'),
    delivery("'mdn'", "'soon'"),
    mail("'lost'", '0'),
    mail("''", '0'),
    mail("'waiting'", '-8640000000000001'),
  ])
    await assert.rejects(database.runRaw(statement), refused, statement);
  // Each column of each table, not only those.
  for (const engine of ['sqlite', 'postgresql'] as const) {
    const columns = baselineStatements(engine).flatMap((one) => one.match(/^ +\w+ bigint\b.*$/gm) ?? []);
    assert.ok(columns.length > 100);
    for (const column of columns) assert.match(column, / check \(\w+ between /);
  }
});

test('of two rollbacks at once each goes back one generation', async (t) => {
  const nodes = await openNodes(t);
  const [{ storage }] = nodes;
  await loadState(storage);
  const db = storage.tables<DirectoryTables>();
  for (let id = 1; id <= 3; id++)
    await db
      .insertInto('directory_load')
      .values({
        id,
        parent_id: null,
        previous_id: id === 1 ? null : id - 1,
        kind: 'full',
        format: 'csv',
        source: 'test',
        state: 'ready',
        record_count: 0,
        block_count: 0,
        report: '{}',
        started_at: 1,
        heartbeat_at: 1,
        finished_at: 1,
        source_name: 'default',
        file_keys: 0,
        started_by: '',
        progress: '',
      })
      .execute();
  await db
    .insertInto('directory_source')
    .values(planSource([], defaultSource, 1))
    .execute();
  for (let round = 0; round < roundsOf(20); round++) {
    await storage.transaction(async (tx: typeof db) => {
      await setActive(tx, defaultSource, 3);
      await updateState(tx, { active_load_id: 3 });
    });
    const results = await each(nodes, 2, ({ storage: own, audit }) =>
      rollBack({ storage: own, audit, clock: systemClock, snapshotDir: tmpdir() }),
    );
    assert.deepEqual(
      fulfilled(results)
        .map((load) => load.id)
        .toSorted((a, b) => a - b),
      [1, 2],
    );
  }
});

test('a state that is locked is the newest one', async (t) => {
  const nodes = await openNodes(t);
  await loadState(nodes[0].storage);
  const results = await each(nodes, 200, ({ storage }) =>
    storage.transaction<DirectoryTables, void>(async (tx) => {
      const state = await lockState(storage, tx);
      await updateState(tx, { revision: state.revision + 1 });
    }),
  );
  assert.deepEqual(codesOf(results), []);
  assert.equal((await getState(nodes[1].storage.tables<DirectoryTables>())).revision, 200);
});

test('vaults opened and rotated at once by two nodes share one current data key', async (t) => {
  for (let round = 0; round < 5; round++) {
    const nodes = await openNodes(t);
    const masterKey = parseMasterKey(randomBytes(32).toString('base64'));
    const opened = await each(nodes, 6, ({ storage }) =>
      openVault({ storage, masterKey, clock: systemClock }),
    );
    assert.deepEqual(codesOf(opened), []);
    const vaults = fulfilled(opened);
    assert.equal(new Set(vaults.map((vault) => vault.keyId)).size, 1);
    const rotations = 12;
    const rotated = await Promise.allSettled(
      Array.from({ length: rotations }, async (_, index) => vaults[index % vaults.length]?.rotateDataKey()),
    );
    assert.deepEqual(codesOf(rotated), []);
    const rows = await nodes[0].storage
      .tables<{ data_key: { id: string; is_current: number } }>()
      .selectFrom('data_key')
      .select(['id', 'is_current'])
      .execute();
    assert.equal(rows.length, 1 + rotations);
    assert.equal(rows.filter((row) => row.is_current === 1).length, 1);
    const sealed = vaults.map((vault) => vault.encrypt(Buffer.from('x'), 'c'));
    for (const vault of vaults) {
      await vault.refresh();
      for (const one of sealed) assert.equal(Buffer.from(vault.decrypt(one, 'c')).toString(), 'x');
    }
  }
});

test('a data key made while another node changes the master key is readable afterwards', async (t) => {
  const nodes = await openNodes(t);
  let previous = parseMasterKey(randomBytes(32).toString('base64'));
  for (let round = 0; round < roundsOf(10); round++) {
    const next = parseMasterKey(randomBytes(32).toString('base64'));
    // Every node knows both keys before the change begins.
    const clock = createManualClock(new Date());
    const both = { masterKey: previous, previousMasterKey: next, clock };
    const a = await openVault({ storage: nodes[0].storage, ...both });
    const b = await openVault({ storage: nodes[1].storage, ...both });
    const results = await Promise.allSettled([
      a.rewrap(next),
      b.rotateDataKey(),
      b.rotateDataKey(),
      a.rotateDataKey(),
    ]);
    assert.deepEqual(codesOf(results), []);
    const sealed = b.encrypt(Buffer.from('content'), 'c');
    const fresh = await openVault({ storage: nodes[0].storage, masterKey: next, clock });
    assert.equal(Buffer.from(fresh.decrypt(sealed, 'c')).toString(), 'content');
    previous = next;
  }
});

function createServices(
  { storage, audit }: Node,
  vault: Parameters<typeof createTrust>[0]['vault'],
): {
  trust: Trust;
  oauth: Oauth;
} {
  return {
    trust: createTrust({ storage, vault, clock: systemClock, audit }),
    oauth: createOauth({ storage, vault, clock: systemClock, audit }),
  };
}

test('a client gets at most two secrets, the same anchor is stored once, one key stays active', async (t) => {
  const nodes = await openNodes(t);
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-nodes-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const masterKey = parseMasterKey(randomBytes(32).toString('base64'));
  const services = [];
  for (const node of nodes)
    services.push(
      createServices(node, await openVault({ storage: node.storage, masterKey, clock: systemClock })),
    );
  const [first, second] = services as [ReturnType<typeof createServices>, ReturnType<typeof createServices>];
  const authority = await openAuthority({
    folder,
    name: 'test',
    baseUrl: 'http://127.0.0.1:1',
    clock: systemClock,
  });
  await first.trust.addDomain('direct.example');
  const issue = () => authority.issue({ domain: 'direct.example' });
  const pairs = [await issue(), await issue()];

  for (let round = 0; round < roundsOf(20); round++) {
    const { clientId } = await first.oauth.clients.create({ name: 'c', scopes: ['messaging.api'] });
    const rotated = await Promise.allSettled(
      [first, second, first, second].map(({ oauth }) => oauth.clients.rotateSecret(clientId)),
    );
    assert.equal(fulfilled(rotated).length, 1);
    assert.deepEqual(new Set(codesOf(rotated)), new Set(['OAUTH_SECRETS_EXHAUSTED']));
    const client = await second.oauth.clients.list();
    assert.equal(client.find((one) => one.clientId === clientId)?.secrets.length, 2);

    const added = await Promise.allSettled(
      [first, second, first, second].map(({ trust }) =>
        trust.addAnchor('direct.example', authority.certificate.der),
      ),
    );
    assert.deepEqual(codesOf(added), []);
    const [anchor, ...more] = await first.trust.listAnchors('direct.example');
    assert.deepEqual(more, []);
    assert.deepEqual(new Set(fulfilled(added)), new Set([anchor?.id]));
    await first.trust.removeAnchor(anchor?.id ?? '');

    const [a = '', b = ''] = await Promise.all(
      pairs.map(
        async (pair) =>
          (await first.trust.addKeyPair('direct.example', pair.certificate.der, pair.privateKey)).id,
      ),
    );
    const retired = await Promise.allSettled([first.trust.retireKeyPair(a), second.trust.retireKeyPair(b)]);
    assert.deepEqual(codesOf(retired), ['TRUST_KEY_LAST_ACTIVE']);
    await Promise.all([a, b].map((id) => first.trust.retireKeyPair(id, { isForced: true })));
  }
});

test('a generation stays while a running node serves it, and goes when that node has gone', async (t) => {
  const [{ storage, audit }, other] = await openNodes(t);
  await loadState(storage);
  const joined = { log: silentLog, version: '1.0.0', heartbeatMs: 3_600_000 };
  const node = await joinNodes({ ...joined, storage: other.storage, id: randomUUID() });
  const db = storage.tables<DirectoryTables>();
  const activate = async (): Promise<number> => {
    const start = { kind: 'full', format: 'csv', source: 'test', sourceName: 'default' } as const;
    const load = await beginLoad(storage, systemClock, start, { startedBy: 'operator' });
    const block = { keys: Buffer.alloc(16), records: Buffer.from('x'), recordCount: 1 };
    await storeBlocks(storage, systemClock, load.id, 0, [block]);
    await activateLoad(
      { storage, clock: systemClock, audit },
      {
        load,
        parentId: null,
        blockCount: 1,
        hasFileKeys: false,
        report: { ...start, recordCount: 1 },
        servedId: load.id,
        uncovers: false,
        unusedIds: { first: 0, end: 0 },
      },
    );
    await retireGenerations(storage);
    return load.id;
  };
  const hasBlocks = async (id: number): Promise<boolean> =>
    (await db.selectFrom('directory_block').select('sequence').where('load_id', '=', id).execute()).length >
    0;
  const first = await activate();
  const claimed = await claimGeneration(other.storage, node.id);
  assert.equal(claimed.active_load_id, first);
  for (let more = 0; more < 4; more++) await activate();
  assert.equal(await hasBlocks(first), true);
  await node.close();
  await activate();
  assert.equal(await hasBlocks(first), false);
  assert.deepEqual(await db.selectFrom('directory_node').selectAll().execute(), []);
});

test('the rate of sends and of searches is divided by the running nodes', () => {
  let nodes = 1;
  const clock = createManualClock(new Date());
  const limitSends = createSendLimit({ sendsPerSecond: 4, sendsBurst: 8 }, clock, () => nodes);
  const limitOf = (client: string): number => {
    let limit = 0;
    limitSends({ clientId: client, limits: {} }, (rateLimit) => (limit = rateLimit.limit));
    return limit;
  };
  assert.equal(limitOf('a'), 8);
  nodes = 3;
  assert.equal(limitOf('b'), 2);
  nodes = 100;
  assert.equal(limitOf('c'), 1);
});
