/** Handing mail over to a mail store: how long a store may keep it waiting, and in which order its rows are locked. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { sql, type Kysely } from 'kysely';
import { createMailStores } from '../../src/app/edges/index.ts';
import { alice, bob, waitUntil } from '../messaging/start-messaging.ts';
import { isPostgres } from '../support/storage.ts';
import { timeScale } from '../support/time-scale.ts';
import { startTestEdges, type TestEdges } from './start-edges.ts';

async function start(t: TestContext): Promise<TestEdges> {
  // A lock is held while a mail is worked on, however long that takes here.
  const world = await startTestEdges({ busyTimeoutMs: 20_000 * timeScale() });
  t.after(() => world.close());
  return world;
}

const greeting = '220 store LMTP\r\n';
const replies: Readonly<Record<string, string>> = {
  LHLO: '250 store\r\n',
  MAIL: '250 2.1.0 ok\r\n',
  RCPT: '250 2.1.5 ok\r\n',
  DATA: '354 go on\r\n',
};

/** A store that answers up to a step, and from there an octet now and then, as long as it is listened to. */
async function startSlowStore(t: TestContext, slowAt: string): Promise<number> {
  const drip = (socket: Socket, text: string): void => {
    // Replies in many lines, none of which is the last.
    const octets = text.replace(' ', '-').repeat(1_000);
    let at = 0;
    const timer = setInterval(() => socket.write(octets[at++] ?? ''), 20);
    socket.once('close', () => clearInterval(timer));
  };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (slowAt === 'silence') return;
    if (slowAt === 'greeting') return drip(socket, greeting);
    socket.write(greeting);
    let isData = false;
    socket.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
        const word = isData ? line : line.slice(0, 4);
        if (isData && line !== '.') continue;
        const reply = isData ? '250 2.0.0 ok\r\n' : (replies[word] ?? '500 what\r\n');
        isData = word === 'DATA';
        if (slowAt === word) drip(socket, reply);
        else socket.write(reply);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('a store that is slow at whatever step is given up within the lease, so that no other node hands over the same', async (t) => {
  const world = await start(t);
  const leaseMs = 6_000;
  const open = (lease: { readonly leaseMs?: number }) => {
    const stores = createMailStores({ ...world, hostname: 'edge.alpha.example', ...lease });
    t.after(() => stores.close());
    return stores;
  };
  const short = open({ leaseMs });
  const deliver = async (slowAt: string, stores = short): Promise<string> => {
    const port = await startSlowStore(t, slowAt);
    const target = { protocol: 'lmtp', host: '127.0.0.1', port, isLoopback: true } as const;
    const mail = { recipient: alice, message: Buffer.from('Subject: x\r\n\r\nx\r\n'), release() {} };
    const began = performance.now();
    const ended = await stores.deliver(target, mail).then(
      () => 'delivered',
      () => 'given up',
    );
    const tookMs = performance.now() - began;
    return `${slowAt}: ${ended}${tookMs < leaseMs ? '' : ` after ${tookMs} ms`}`;
  };
  const steps = ['silence', 'greeting', 'LHLO', 'MAIL', 'RCPT', 'DATA', '.'];
  assert.deepEqual(
    await Promise.all(steps.map((step) => deliver(step))),
    steps.map((step) => `${step}: given up`),
  );
  // With the time that stores really have: how fast this machine answers says nothing.
  assert.match(await deliver('never', open({})), /^never: delivered/);
});

interface Tables {
  webhook: { id: string };
  webhook_owner: { client_id: string };
  webhook_notification: { id: string; next_attempt_at: number };
}

const skip = isPostgres ? false : 'SQLite has one writer at a time, and no order of locks';

test(
  'a target is removed with its notifications locked first, as those who settle them do',
  { skip },
  async (t) => {
    const world = await start(t);
    await world.createAccount();
    const account = await world.edges.accounts.get(alice);
    await world.webhooks.setEdgeTarget(account, 'mail', 'lmtp://127.0.0.1:9');
    const tables = (): Kysely<Tables> => world.storage.tables<Tables>();
    const isWaiting = async (db = tables()): Promise<boolean> => {
      const { rows } = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%webhook%'`.execute(db);
      return rows.length > 0;
    };
    const [held, handed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const owner = world.storage.transaction(async (tx: Kysely<Tables>) => {
      await tx.selectFrom('webhook_owner').select('client_id').forUpdate().execute();
      held.resolve();
      await handed.promise;
    });
    await held.promise;
    // It has deleted what waited, and now waits for the owner while more comes.
    const removing = world.webhooks.setEdgeTarget(account, 'mail', undefined);
    await waitUntil(() => isWaiting(), 'the lock of the owner');
    const inner = `From: ${bob}\r\nTo: ${alice}\r\nMessage-ID: <order@beta.example>\r\n\r\nHello`;
    await world.receive({ from: bob, to: [alice], inner });
    await world.storage.transaction(async (tx: Kysely<Tables>) => {
      const rows = await tx.selectFrom('webhook_notification').select('id').forUpdate().execute();
      assert.equal(rows.length, 1);
      handed.resolve();
      await owner;
      await waitUntil(() => isWaiting(tx), 'the lock of the notification');
      // In the other order this would be a deadlock.
      await tx.selectFrom('webhook').select('id').forUpdate().noWait().execute();
    });
    assert.equal(await removing, 'removed');
    assert.equal((await tables().selectFrom('webhook_notification').select('id').execute()).length, 0);
  },
);
