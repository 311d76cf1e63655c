/** Faults of the PostgreSQL under a HISP that sends: it is away, read-only, its disk is full, or the clocks of the two differ. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { breaksAndRecovers, settings, startFaulty, survivesClockJumps } from '../processes/faulty.ts';
import { startProcessWorld } from '../processes/world.ts';
import { prepareFaults, whyNoFaults, type Faults } from '../support/faults.ts';
import { startPostgres } from '../support/postgres.ts';
import { createDatabaseAt, needsBothEngines } from '../support/storage.ts';

const skipPostgres = { skip: needsBothEngines().skip || (whyNoFaults() ?? false) };

test('the clock of a node jumps by an hour, that of its database does not', skipPostgres, async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  await survivesClockJumps(await startFaulty(t, await createDatabaseAt(postgres, 'sender')));
});

test(
  'a database that becomes read-only, as a stand-by is: sends are refused, health reports it, and all continues afterwards',
  needsBothEngines(),
  async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.stop());
    const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-stand-by-'));
    const url = await createDatabaseAt(postgres, 'sender');
    const world = await startProcessWorld({
      folder,
      settings: (who) => ({ ...settings, ...(who === 'sender' && { 'storage.url': url }) }),
    });
    t.after(async () => {
      await world.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const setReadOnly = (value: 'on' | 'off') =>
      ask(
        postgres.url,
        'set default_transaction_read_only = off',
        `alter system set default_transaction_read_only = ${value}`,
        'select pg_reload_conf()',
      );
    await breaksAndRecovers(
      world,
      () => setReadOnly('on'),
      () => setReadOnly('off'),
    );
  },
);

test(
  'a database whose disk is full: sends are refused, health reports it, and all continues when the server is back',
  skipPostgres,
  async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-full-'));
    // The server runs as its own user.
    await chmod(folder, 0o755);
    const prepared: Faults[] = [];
    const postgres = await startPostgres({
      env: (data) => {
        prepared.push(prepareFaults(path.join(folder, 'faults'), data));
        const { FAULTS_FLUSHED: _copies, ...env } = prepared[0]?.env ?? {};
        return env;
      },
    });
    t.after(async () => {
      prepared[0]?.setDisk('well');
      await postgres.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const url = await createDatabaseAt(postgres, 'sender');
    const world = await startProcessWorld({
      folder: path.join(folder, 'world'),
      settings: (who) => ({ ...settings, ...(who === 'sender' && { 'storage.url': url }) }),
    });
    t.after(() => world.close());
    await breaksAndRecovers(
      world,
      async () => {
        prepared[0]?.setDisk('full');
        // The rest of the current segment of its log would last for minutes. The server may end by this.
        await ask(postgres.url, 'select pg_switch_wal()', 'checkpoint').catch(() => {});
      },
      async () => {
        prepared[0]?.setDisk('well');
        // A server that could not write its log has ended itself, or ends its sessions.
        await postgres.restart('immediate');
      },
    );
  },
);

test('a database that is away for longer than the leases', needsBothEngines(), async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-away-'));
  const postgres = await startPostgres();
  t.after(async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const url = await createDatabaseAt(postgres, 'sender');
  const world = await startProcessWorld({
    folder,
    settings: (who) => ({
      ...settings,
      'delivery.leaseSeconds': '5',
      ...(who === 'sender' && { 'storage.url': url }),
    }),
  });
  t.after(() => world.close());
  let back: Promise<void> | undefined;
  await breaksAndRecovers(
    world,
    () => void (back = postgres.restart('fast', 20_000)),
    async () => back,
  );
});

async function ask(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  // The server may end the connection; the statement fails then.
  client.on('error', () => {});
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end().catch(() => {});
  }
}
