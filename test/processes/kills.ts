/**
 * Ends HISPs by SIGKILL at random moments while messages, MDNs and notifications are under way, and then accounts for
 * everything: each accepted message has exactly one final state, arrived exactly once, and the audit chains are whole.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEdgeClient, type EdgeClient } from '../../src/app/dev/index.ts';
import type { HispProcess, ProcessWorld } from './world.ts';

export interface KillOptions {
  readonly kills: number;
  /** Sends under way at once. */
  readonly atOnce: number;
  /** Longest time between a start and the next kill. */
  readonly maxLifeMs: number;
  readonly random: () => number;
}

export interface KillReport {
  readonly kills: number;
  readonly accepted: number;
  /** Sends whose answer was lost with the process; each was repeated under the same message id until it was answered. */
  readonly repeated: number;
  readonly processed: number;
  /** Message ids that did not end as `processed`, with their state. */
  readonly others: readonly string[];
  /** Accepted messages that the receiver does not have. */
  readonly lost: readonly string[];
  /** Messages that the receiver has more than once. */
  readonly doubled: readonly string[];
  /** Messages whose final notification never came. */
  readonly untold: readonly string[];
  /** Messages told of with two different final states. */
  readonly contradicted: readonly string[];
  readonly auditEvents: number;
}

const drainMs = 180_000;

export async function runKills(world: ProcessWorld, options: KillOptions): Promise<KillReport> {
  const { sender, receiver } = world;
  const accepted: string[] = [];
  const told = new Map<string, Set<string>>();
  let repeated = 0;
  let isSending = true;
  world.onNotification(({ eventType, messageId }) => {
    if (/processed|failed|expired/.test(eventType))
      told.set(messageId, (told.get(messageId) ?? new Set()).add(eventType));
  });

  // One token per run of the sender: tokens are limited, and a restart moves the API to another port.
  let edge = { ready: sender.ready, client: createEdgeClient(sender.ready, 'messaging.api') };
  const findClient = (): EdgeClient => {
    const { ready } = sender;
    if (edge.ready !== ready) edge = { ready, client: createEdgeClient(ready, 'messaging.api') };
    return edge.client;
  };

  async function sendOne(): Promise<void> {
    const messageId = `urn:uuid:${randomUUID()}`;
    const body = {
      messageId,
      fromDirectAddress: sender.party.address,
      toDirectAddress: receiver.party.address,
      messageBody: 'x'.repeat(Math.floor(options.random() * 20_000) + 1),
    };
    for (let isFirst = true; ; isFirst = false) {
      try {
        await findClient().post('/messaging/dirmsg/send_ccda', body);
        accepted.push(messageId);
        return;
      } catch {
        if (isFirst) repeated++;
        await sleep(100);
      }
    }
  }

  const senders = Array.from({ length: options.atOnce }, async () => {
    while (isSending) {
      await sendOne();
      await sleep(50 * options.random());
    }
  });
  for (let kill = 0; kill < options.kills; kill++) {
    await sleep(options.maxLifeMs * options.random());
    const victim: HispProcess = options.random() < 0.5 ? sender : receiver;
    await victim.kill();
    await victim.start();
  }
  isSending = false;
  await Promise.all(senders);
  return account(world, findClient(), { accepted, repeated, told, kills: options.kills });
}

interface Run {
  readonly accepted: readonly string[];
  readonly repeated: number;
  readonly told: ReadonlyMap<string, ReadonlySet<string>>;
  readonly kills: number;
}

async function account(
  { sender, receiver }: ProcessWorld,
  client: EdgeClient,
  run: Run,
): Promise<KillReport> {
  const states = await waitForFinalStates(client, run);
  const atReceiver = await receiver.inspect();
  const atSender = await sender.inspect();
  const counts = new Map<string, number>();
  for (const wireId of atReceiver.received) counts.set(wireId, (counts.get(wireId) ?? 0) + 1);
  const wireIdOf = (messageId: string): string => `<${messageId.slice(9)}@${sender.party.domain}>`;
  return {
    kills: run.kills,
    accepted: run.accepted.length,
    repeated: run.repeated,
    processed: [...states.values()].filter((state) => state === 'processed').length,
    others: [...states].filter(([, state]) => state !== 'processed').map(([id, state]) => `${id} ${state}`),
    lost: run.accepted.filter((id) => !counts.has(wireIdOf(id))),
    doubled: [...counts].filter(([, count]) => count > 1).map(([id]) => id),
    untold: run.accepted.filter((id) => !run.told.has(id)),
    contradicted: [...run.told].filter(([, types]) => types.size > 1).map(([id]) => id),
    auditEvents: atSender.auditEvents + atReceiver.auditEvents,
  };
}

/** Waits until every message is final and told of, or the time is up; returns what the status service says. */
async function waitForFinalStates(client: EdgeClient, run: Run): Promise<Map<string, string>> {
  const giveUpAt = performance.now() + drainMs;
  const states = new Map<string, string>();
  for (;;) {
    const open = run.accepted.filter((id) => !/processed|failed|expired/.test(states.get(id) ?? ''));
    for (let at = 0; at < open.length; at += 100) {
      const { result } = (await client.post('/messaging/dirmsg/status', {
        messageIds: open.slice(at, at + 100),
      })) as { result: readonly { messageId: string; messageStatus: string }[] };
      for (const { messageId, messageStatus } of result) states.set(messageId, messageStatus);
    }
    const isDone = open.length === 0 && run.accepted.every((id) => run.told.has(id));
    if (isDone || performance.now() > giveUpAt) return states;
    await sleep(250);
  }
}
