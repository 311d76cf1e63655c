/**
 * An address that leads to a standby for a while, as during a failover: nothing is read from it, nothing is
 * left with it, and all continues after its promotion.
 */
import assert from 'node:assert/strict';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Kysely } from 'kysely';
import { startPostgres } from '../../../../test/support/postgres.ts';
import { needsPrograms, waitUntil } from '../../../../test/support/processes.ts';
import { createDatabaseAt, needsBothEngines } from '../../../../test/support/storage.ts';
import { PlatformError } from '../../errors.ts';
import type { Migration } from '../migrate.ts';
import { openStorage } from '../open-storage.ts';

interface Tables {
  thing: { id: string };
}

const things: Migration = {
  name: '0001-things',
  async up(db) {
    await db.schema
      .createTable('thing')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .execute();
  },
};

/** An address behind which the server can change; open connections stay where they are. */
async function createSwitch(firstPort: number) {
  let port = firstPort;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection({ host: '127.0.0.1', port });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    lead(to: number) {
      port = to;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const portOf = (url: string): number => Number(new URL(url).port);
const isAway = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_UNAVAILABLE';

const skip = needsBothEngines().skip || needsPrograms('pg_basebackup').skip;

test('a failover to a standby that is promoted later', { skip }, async (t) => {
  const primary = await startPostgres();
  t.after(() => primary.stop());
  const primaryUrl = await createDatabaseAt(primary, 'hisp');
  const standby = await startPostgres({ standbyOf: primary });
  t.after(() => standby.stop());
  const address = await createSwitch(portOf(primaryUrl));
  t.after(() => address.close());
  const through = new URL(primaryUrl);
  through.port = String(address.port);
  const problems: string[] = [];
  const node = await openStorage({
    url: through.href,
    migrations: [things],
    onProblem: (text) => problems.push(text),
  });
  t.after(() => node.close());
  await node.migrate();
  const insert = (id: string) =>
    node.transaction((tx: Kysely<Tables>) => tx.insertInto('thing').values({ id }).execute());
  const read = async (): Promise<string[]> =>
    (await node.tables<Tables>().selectFrom('thing').select('id').orderBy('id').execute()).map(
      ({ id }) => id,
    );
  let announced = 0;
  node.onAnnounced('thing', () => announced++);
  await insert('a');
  assert.ok(await node.tryRunExclusive('task', async () => true));

  const admin = new pg.Client({ connectionString: standby.urlOf('hisp') });
  // Its server ends first.
  admin.on('error', () => {});
  await admin.connect();
  t.after(() => admin.end());
  const arrived = async (): Promise<boolean> => {
    const { rows } = await admin.query('select 1 from pg_class where relname = $1', ['thing']);
    return rows.length > 0 && (await admin.query('select id from thing')).rows.length === 1;
  };
  await waitUntil(arrived, { what: 'the replica' });

  address.lead(portOf(standby.url));
  await primary.stop();
  await waitUntil(() => problems.length > 0, { what: 'the loss' });
  await assert.rejects(read(), isAway);
  await assert.rejects(insert('b'), isAway);
  await assert.rejects(node.check(), isAway);
  // Several tries of the connection for locks and announcements.
  await sleep(4_000);
  const { rows } = await admin.query<{ count: string }>(
    `select count(*) from pg_stat_activity where application_name = 'openhisp'`,
  );
  assert.equal(rows[0]?.count, '0', 'connections that nobody uses');

  await admin.query('select pg_promote()');
  await waitUntil(
    () =>
      insert('b').then(
        () => true,
        () => false,
      ),
    { what: 'a write' },
  );
  assert.deepEqual(await read(), ['a', 'b']);
  await node.check();
  await waitUntil(
    () =>
      node
        .tryRunExclusive('task', async () => true)
        .then(
          (done) => done !== undefined,
          () => false,
        ),
    { what: 'the locks' },
  );
  const before = announced;
  await node.transaction(async (tx) => node.announce(tx, 'thing'));
  assert.ok(announced > before);
});
