/** Two processes of the whole service over one PostgreSQL. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEdgeClient } from '../../src/app/dev/index.ts';
import { startProcessWorld, type HispProcess, type ProcessWorld } from '../processes/world.ts';
import { createTestDatabase, isPostgres } from '../support/storage.ts';
import { createDeadline } from '../support/time-scale.ts';

const skip = isPostgres ? false : 'several nodes need PostgreSQL';
const leaseSeconds = 3;
const drainMs = 200_000;

interface Nodes {
  readonly world: ProcessWorld;
  readonly first: HispProcess;
  readonly second: HispProcess;
  /** Ids of the notifications of each message, by the type of event. */
  readonly reported: ReadonlyMap<string, readonly string[]>;
}

async function startNodes(t: TestContext): Promise<Nodes> {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-nodes-'));
  const { location } = await createTestDatabase();
  const world = await startProcessWorld({
    folder,
    settings: (who) => ({
      'delivery.retryMinutes': '0.01,0.02,0.05',
      'delivery.leaseSeconds': String(leaseSeconds),
      ...(who === 'sender' && {
        'storage.url': location.url ?? '',
        'vault.masterKeyFile': path.join(folder, 'shared.key'),
      }),
    }),
  });
  t.after(async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const reported = new Map<string, string[]>();
  world.onNotification(({ eventType, eventId, messageId }) => {
    const key = `${messageId} ${eventType}`;
    reported.set(key, [...(reported.get(key) ?? []), eventId]);
  });
  return { world, first: world.sender, second: await world.addSender(), reported };
}

async function send({ world }: Nodes, node: HispProcess, count: number): Promise<string[]> {
  const client = createEdgeClient(node.ready, 'messaging.api');
  return Promise.all(
    Array.from({ length: count }, async () => {
      const messageId = `urn:uuid:${randomUUID()}`;
      await client.post('/messaging/dirmsg/send_ccda', {
        messageId,
        fromDirectAddress: world.sender.party.address,
        toDirectAddress: world.receiver.party.address,
        messageBody: 'x'.repeat(5000),
      });
      return messageId;
    }),
  );
}

/** Waits until each message is processed, as `node` says, and reported. */
async function settle({ reported }: Nodes, node: HispProcess, ids: readonly string[]): Promise<void> {
  const client = createEdgeClient(node.ready, 'messaging.api');
  const deadline = createDeadline(drainMs);
  let open = ids;
  for (;;) {
    const { result } = (await client.post('/messaging/dirmsg/status', { messageIds: open })) as {
      result: readonly { messageId: string; messageStatus: string }[];
    };
    const unreported = [...reported.keys()]
      .filter((key) => key.endsWith('processed'))
      .map((key) => key.split(' ')[0]);
    open = ids.filter(
      (id) =>
        !unreported.includes(id) ||
        (open.includes(id) && result.find((one) => one.messageId === id)?.messageStatus !== 'processed'),
    );
    if (open.length === 0) return;
    assert.ok(!deadline.isOver(), `not final: ${JSON.stringify(result.slice(0, 3))}`);
    await sleep(200);
  }
}

async function requireOnce({ world, reported }: Nodes, ids: readonly string[]): Promise<void> {
  const { received } = await world.receiver.inspect();
  const expected = ids.map((id) => `<${id.slice(9)}@${world.sender.party.domain}>`);
  assert.deepEqual([...received].sort(), expected.sort());
  // A notification that was under way when its node ended may come again, under the same id.
  for (const [key, eventIds] of reported) assert.equal(new Set(eventIds).size, 1, key);
}

test(
  'a send on either node is delivered once and reported once, and either node knows its state',
  { skip },
  async (t) => {
    const nodes = await startNodes(t);
    const ids = (await Promise.all([send(nodes, nodes.first, 20), send(nodes, nodes.second, 20)])).flat();
    await settle(nodes, nodes.first, ids);
    await settle(nodes, nodes.second, ids);
    await requireOnce(nodes, ids);
    for (const [key, eventIds] of nodes.reported) assert.equal(eventIds.length, 1, key);
    assert.deepEqual((await nodes.second.inspect()).waiting, (await nodes.first.inspect()).waiting);
  },
);

test('finishes the work of a killed node on the other one', { skip }, async (t) => {
  const nodes = await startNodes(t);
  const ids = await send(nodes, nodes.second, 25);
  await nodes.second.kill();
  await settle(nodes, nodes.first, ids);
  await requireOnce(nodes, ids);
});

test(
  'a node stopped for twice its lease writes nothing afterwards and doubles nothing',
  { skip },
  async (t) => {
    const nodes = await startNodes(t);
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      ids.push(...(await send(nodes, nodes.second, 10)));
      nodes.second.process.kill('SIGSTOP');
      // The stop itself, not a wait for something.
      await sleep(2 * leaseSeconds * 1000);
      ids.push(...(await send(nodes, nodes.first, 2)));
      nodes.second.process.kill('SIGCONT');
    }
    await settle(nodes, nodes.first, ids);
    await settle(nodes, nodes.second, ids);
    await requireOnce(nodes, ids);
  },
);
