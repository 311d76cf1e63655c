/**
 * A HISP limited to 1 GB, under everything at once, with mail flowing (Decision 0020; `docs/capacity.md`, Small machines). With
 * `OPENHISP_TEST_LOAD_SECONDS` the load lasts longer.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createEdgeClient } from '../../src/app/dev/index.ts';
import { startProcessWorld } from '../processes/world.ts';
import { openMemoryGroup } from '../support/memory-group.ts';
import { createTemporaryFolder, waitUntil } from '../support/processes.ts';
import { isPostgres } from '../support/storage.ts';
import { prepareHeavyLoad } from './heavy-load.ts';

const megabyte = 1_000_000;
const loadSeconds = Number(process.env['OPENHISP_TEST_LOAD_SECONDS'] ?? 30);
const clientOutcomes = ['upload 200', 'upload 429', 'upload 400', 'part 429', 'part held', 'unread 200'];
const peerOutcomes = ['upload 429', 'mail 250', 'mail 452'];

test('with 1 GB, one client with all its allowances holds less than 700 MB, and with peers on top mail flows', async (t) => {
  const group = isPostgres ? 'its HISPs are on SQLite' : openMemoryGroup(1000 * megabyte);
  if (typeof group === 'string') {
    t.skip(group);
    return;
  }
  const folder = await createTemporaryFolder('small-memory');
  const ends: (() => unknown)[] = [() => folder.remove(), () => group.remove()];
  t.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const world = await startProcessWorld({
    folder: folder.path,
    memory: (who) => (who === 'receiver' ? group : undefined),
  });
  ends.push(() => world.close());
  const { sender, receiver } = world;
  const load = await prepareHeavyLoad(world);
  ends.push(() => load.stop());
  const sent = new Map<string, number>();
  const times: number[] = [];
  world.onNotification(({ eventType, messageId }) => {
    const at = sent.get(messageId);
    if (eventType !== 'message.processed' || at === undefined) return;
    sent.delete(messageId);
    times.push((performance.now() - at) / 1000);
  });
  let peakBytes = 0;
  const sampling = setInterval(() => (peakBytes = Math.max(peakBytes, group.heldBytes())), 50);
  ends.push(() => clearInterval(sampling));
  const client = createEdgeClient(sender.ready, 'messaging.api');
  const told = (): string =>
    [
      `${Math.round(group.heldBytes() / megabyte)} MB, at most ${Math.round(peakBytes / megabyte)} MB`,
      `${times.length} small messages processed, ${sent.size} on their way, the slowest in ${Math.max(0, ...times).toFixed(1)} s`,
      ...Object.entries(load.tally).map(([outcome, count]) => `${outcome} ×${count}`),
    ].join(', ');

  /** Small messages, two per second, until that time and until each outcome was had again. */
  async function sendSmall(seconds: number, outcomes: readonly string[]): Promise<void> {
    const startedAt = performance.now();
    const before = load.tally;
    const hasAll = (): boolean =>
      outcomes.every((outcome) => (load.tally[outcome] ?? 0) > (before[outcome] ?? 0));
    for (let turn = 1; performance.now() < startedAt + seconds * 1000 || !hasAll(); turn++) {
      assert.ok(performance.now() < startedAt + (seconds + 400) * 1000, told());
      assert.equal(receiver.process.exitCode ?? receiver.process.signalCode, null, told());
      const { messageId } = (await client.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: sender.party.address,
        toDirectAddress: receiver.party.address,
        messageBody: 'one of the small ones',
      })) as { messageId: string };
      sent.set(messageId, performance.now());
      if (turn % 120 === 0) t.diagnostic(`${new Date().toISOString()} ${told()}`);
      await delay(500);
    }
  }

  load.begin('client');
  await sendSmall(15, clientOutcomes);
  t.diagnostic(`the client alone: ${told()}`);
  assert.ok(peakBytes < 700 * megabyte, told());
  load.begin('peers');
  await sendSmall(loadSeconds, peerOutcomes);
  t.diagnostic(`all of it: ${told()}`);
  await load.stop();
  await waitUntil(() => sent.size === 0, { timeoutMs: 400_000, what: 'the small messages to be processed' });
  assert.equal(group.countKills(), 0, told());
});
