/**
 * Nothing grows for ever: each table either holds what operators, clients and the directory's contents limit, or its rows are gone
 * once they are old. A HISP has traffic of each kind; then the same database is opened many years later.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql, type Kysely } from 'kysely';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { createEdgeClient, demoAddress, mailHosts, partners } from '../../src/app/dev/index.ts';
import { startHisp } from '../../src/app/server/index.ts';
import { loadConfig, type Storage } from '../../src/platform/index.ts';
import { createLegalHolds, type LegalHolds } from '../../src/service/legal-hold/index.ts';
import { isPostgres } from '../support/storage.ts';
import { openTestSandbox, readStatus, send, waitFor, type TestSandbox } from './sandbox-fixture.ts';

/** Why a table needs no retention. A table that is not named here must lose its old rows. */
const limited: Readonly<Record<string, string>> = {
  address_forwarding: 'one row for each hosted address at most',
  organization_stored: 'one row for each organization',
  address_proofing: 'one row for each hosted address',
  audit_chain: 'one row',
  audit_checkpoint: 'one row, the newest checkpoint',
  audit_start: 'one row',
  console_operator: 'one row for each operator; the audit trail names them',
  console_passkey: 'removed by its operator or with all of an operator',
  content: 'goes with the mail that refers to it',
  content_part: 'goes with its content',
  data_key: 'one row for each rotation; old contents need them',
  delivery_hold: 'until an operator releases it',
  directory_block: 'the generations in use and one to return to',
  directory_load: 'a limited number for each source',
  directory_lookup: 'goes with the blocks of its load',
  directory_node: 'one row for each running node',
  directory_opt_out: 'one row for each hosted address that is kept out',
  directory_provisioned: 'one row for each record that an operator made',
  directory_source: 'one row for each source',
  directory_state: 'one row',
  edge_account: 'one row for each account',
  edge_address: 'a few for each account',
  edge_lease: 'one row for each account',
  edge_mail: 'goes with the message that it shows',
  edge_mailbox: 'three rows for each account',
  edge_offer: 'goes with its message',
  edge_password: 'two for each account',
  hosted_address: 'one row for each hosted address',
  hosted_domain: 'one row for each hosted domain',
  key_pair: 'old keys open old mail',
  key_request: 'ten for each domain',
  legal_hold: 'one row for each, also when it was released: they explain what is there',
  legal_hold_state: 'one row',
  node: 'one row for each running node',
  oauth_client: 'one row for each client',
  oauth_secret: 'a few for each client',
  organization: 'one row for each organization',
  organization_sent: 'one row for each organization with a limit of a day',
  organization_state: 'one row',
  removed_domain: 'one row for each domain that was removed',
  trust_anchor: 'until it is removed',
  trust_bundle: 'until it is removed',
  trust_bundle_change: 'a limited number for each bundle',
  trust_state: 'one row',
  verification_address: 'one row for each address of the directory',
  verification_domain: 'one row for each domain of the directory',
  verification_state: 'one row',
  webhook: 'a limited number for each client',
  webhook_owner: 'one row for each client',
};

/** Tables whose rows end by work or by the database's own clock, which this test does not move, and the tests that prove it. */
const provedIn: Readonly<Record<string, string>> = {
  audit_event: 'src/service/audit/audit.sql.test.ts',
  delivery: 'src/service/delivery/delivery.sql.test.ts',
  delivery_destination: 'src/service/delivery/delivery.sql.test.ts',
  inbound_mail: 'src/service/messaging/housekeeping.sql.test.ts',
  sent_message: 'src/service/messaging/housekeeping.sql.test.ts',
  traffic_minute: 'src/service/messaging/traffic.sql.test.ts',
  usage_count: 'src/service/messaging/usage/usage.sql.test.ts',
  usage_day: 'src/service/messaging/usage/usage.sql.test.ts',
  verification_processed: 'src/service/verification/processed.sql.test.ts',
  webhook_notification: 'src/service/webhook/notification-work.sql.test.ts',
};

/** Tables whose rows are of no message, so that a legal hold does not keep them. */
const ofNoMessage: Readonly<Record<string, string>> = {
  console_ceremony: 'sign-ins of operators',
  console_link: 'sign-ins of operators',
  console_session: 'sign-ins of operators',
  console_token: 'access of operators',
  directory_quota: 'counts',
  oauth_token: 'access of clients',
  received_register: 'hashes without a name',
};

/** The migrations' own. */
const ownTables = /^(?:schema_migration$|sqlite_)/;

describe('retention', () => {
  let world: TestSandbox;
  before(async () => {
    world = await openTestSandbox();
  });
  after(() => world?.close());

  it('deletes the old rows of each table that grows', { timeout: 240_000 }, async () => {
    await makeTraffic(world);
    const [database] = world.databases;
    assert(database);
    await world.sandbox.world.close();

    const storage = await database.open();
    const growing = (await listTables(storage)).filter(
      (table) => !(table in limited) && !(table in provedIn),
    );
    const before = new Map<string, ReadonlySet<string>>();
    for (const table of growing) before.set(table, await readKeys(storage, table));
    const empty = growing.filter((table) => before.get(table)?.size === 0);
    assert.deepEqual(empty, [], 'the traffic of this test leaves rows in each of them');

    // Every message is from or to this address.
    await changeHold(storage, (holds) =>
      holds.add({ kind: 'address', subject: demoAddress, reason: 'Decision 0034' }),
    );
    await runLater(world, database.location.url, { years: 30, emptied: 'received_register' });
    for (const table of growing.filter((name) => !(name in ofNoMessage))) {
      const keys = await readKeys(storage, table);
      const gone = [...(before.get(table) ?? [])].filter((key) => !keys.has(key));
      assert.deepEqual(gone, [], `${table}: on legal hold`);
    }
    await changeHold(storage, async (holds) => {
      for (const { id } of await holds.list()) await holds.release(id, 'Decision 0034');
    });

    // Twice: what waits at the first start ends then, and is old at the second.
    for (const years of [60, 90]) await runLater(world, database.location.url, { years, emptied: 'message' });

    const left: string[] = [];
    for (const table of growing) {
      const keys = await readKeys(storage, table);
      const kept = [...(before.get(table) ?? [])].filter((key) => keys.has(key));
      if (kept.length > 0) left.push(`${table}: ${kept.length} of ${before.get(table)?.size}`);
    }
    await storage.close();
    assert.deepEqual(left, []);
  });
});

async function changeHold(storage: Storage, change: (holds: LegalHolds) => Promise<unknown>): Promise<void> {
  await change(
    createLegalHolds({ storage, clock: systemClock, author: 'operator:test', recordIn: async () => {} }),
  );
}

/** Starts the HISP with its clock set forward until housekeeping has emptied a table and the other workers have run once. */
async function runLater(
  { sandbox }: TestSandbox,
  url: string | undefined,
  { years, emptied }: { readonly years: number; readonly emptied: string },
): Promise<void> {
  const at = new Date(Date.now() + years * 365.25 * 86_400_000);
  const hisp = await startHisp({
    config: loadConfig({}, undefined, {
      dataDir: sandbox.dataDir,
      ...(url !== undefined && { 'storage.url': url }),
      'http.port': '0',
      'console.isServing': 'false',
      'smtp.hostname': mailHosts.own,
      'smtp.host': '127.0.0.1',
      'smtp.port': '0',
      'smtp.isBehindRelay': 'true',
      'dns.resolvers': '127.0.0.1:9',
      'directory.searchThreads': '0',
    }),
    clock: { now: () => at },
    log: silentLog,
  });
  try {
    await hisp.audit.deleteOld();
    await hisp.operators.deleteOld();
    const { baseUrl } = hisp;
    const client = createEdgeClient({ ...sandbox.credentials, baseUrl });
    await waitFor(
      async () => (await fetch(`${baseUrl}/health/ready`)).status,
      (status) => status === 200,
    );
    await client.get('/provider-directory/v2/providers?limit=1');
    await waitFor(
      async () =>
        sql<{ count: number }>`select count(*) as count from ${sql.table(emptied)}`.execute(
          hisp.storage.tables(),
        ),
      ({ rows }) => Number(rows[0]?.count) === 0,
    );
    // The other workers began with that one.
    await new Promise((resolve) => setTimeout(resolve, 2000));
  } finally {
    await hisp.close();
  }
}

/** Messages to each partner, one inbound and acknowledged, one refused, webhooks that fail, sign-ins, searches. */
async function makeTraffic({ sandbox, client }: TestSandbox): Promise<void> {
  const { hisp } = sandbox.world;
  await client.post('/messaging/webhooks', { url: 'http://127.0.0.1:9/closed' });
  await client.get('/provider-directory/v2/providers?limit=1');
  const ids: string[] = [];
  for (const to of [...Object.values(partners), 'echo@direct.lakeside.example'])
    ids.push(
      await send(client, { fromDirectAddress: demoAddress, toDirectAddress: to, messageBody: 'text' }),
    );
  const { store, links, tokens, signIn } = hisp.operators;
  const operator = await store.create('someone', 'operator');
  await links.create(operator.id, 'someone', 'enrol');
  await tokens.create(operator, { label: 'test', lifetimeMs: 3_600_000 });
  const source = { requestId: 'test', remoteAddress: '127.0.0.1', userAgent: 'test' };
  await signIn.beginPasskey(source, { id: 'localhost', origin: 'http://localhost' });
  await signIn.byLink((await links.create(operator.id, 'someone', 'sign-in')).token, source);
  await waitFor(
    () => Promise.all(ids.map((id) => readStatus(client, id))),
    (all) => all.every(({ result }) => result.every(({ final }) => final)),
    120,
  );
  const readInbox = async () =>
    (await client.get(`/messaging/dirmsg/inbox?toDirectAddress=${demoAddress}&limit=100`)) as {
      readonly result: readonly { readonly messageId: string }[];
    };
  // The welcome, and the echo. Mail that nobody acknowledges is kept.
  const { result } = await waitFor(readInbox, (page) => page.result.length >= 2);
  for (const { messageId } of result)
    await client.post(`/messaging/dirmsg/inbox/${encodeURIComponent(messageId)}/ack`, {});
}

async function listTables(storage: Storage): Promise<readonly string[]> {
  const names = isPostgres
    ? sql<{ name: string }>`select tablename as name from pg_tables where schemaname = current_schema()`
    : sql<{ name: string }>`select name from sqlite_schema where type = 'table'`;
  const { rows } = await names.execute(storage.tables());
  return rows
    .map(({ name }) => name)
    .filter((name) => !ownTables.test(name))
    .toSorted();
}

/** The primary keys of all rows, as text. */
async function readKeys(storage: Storage, table: string): Promise<ReadonlySet<string>> {
  const db: Kysely<Record<string, Record<string, unknown>>> = storage.tables();
  const columns = isPostgres
    ? sql<{ name: string }>`
        select a.attname as name from pg_index i
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
        where i.indisprimary and i.indrelid = ${table}::regclass`
    : sql<{ name: string }>`select name from pragma_table_info(${table}) where pk > 0`;
  const names = (await columns.execute(db)).rows.map(({ name }) => name);
  assert(names.length > 0, `${table} has a primary key`);
  const rows = await db.selectFrom(table).select(names).execute();
  return new Set(rows.map((row) => JSON.stringify(names.map((name) => String(row[name])))));
}
