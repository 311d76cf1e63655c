/** Messages in both directions between two HISPs, each accounted for in the end. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEdgeClient, type EdgeClient } from '../../src/app/dev/index.ts';
import type { HispProcess, ProcessWorld, StatusEvent } from './world.ts';
import { createRandom } from '../support/fast-check.ts';
import { createDeadline } from '../support/time-scale.ts';

export interface TrafficOptions {
  /** Sends under way at once, half of them in each direction. */
  readonly atOnce: number;
  /** Longest pause of one of them after a send. */
  readonly pauseMs?: number;
  readonly random?: () => number;
  /** A further node of the sender, perhaps one that comes later. */
  readonly secondNode?: HispProcess | (() => HispProcess | undefined);
}

/** The outcomes of all messages. */
export interface Account {
  readonly accepted: number;
  /** Sends without an answer of 200; each was repeated under the same message id until it had one. */
  readonly repeated: number;
  readonly processed: number;
  /** Message ids that did not end as `processed`, with their state. */
  readonly others: readonly string[];
  /** Accepted messages that the receiver does not have. */
  readonly lost: readonly string[];
  /** Messages that the receiver has more than once. */
  readonly doubled: readonly string[];
  /** Messages whose final notification never came. */
  readonly unreported: readonly string[];
  /** Messages reported with two different final states. */
  readonly contradicted: readonly string[];
  /** Events reported under two different ids. */
  readonly reportedAgain: readonly string[];
  readonly auditEvents: number;
}

/** The lists of an account that must be empty. */
export const faultsOf = ({ others, lost, doubled, unreported, contradicted, reportedAgain }: Account) => ({
  others,
  lost,
  doubled,
  unreported,
  contradicted,
  reportedAgain,
});

/** Every accepted message was processed, and nothing was lost, doubled or contradicted. */
export function requireNoFaults(account: Account): void {
  const expected: ReturnType<typeof faultsOf> = {
    others: [],
    lost: [],
    doubled: [],
    unreported: [],
    contradicted: [],
    reportedAgain: [],
  };
  const { processed } = account;
  assert.deepEqual({ ...faultsOf(account), processed }, { ...expected, processed: account.accepted });
}

export interface Traffic {
  /** Sends accepted until now. */
  readonly accepted: number;
  /** Sends in a row, from this direction, that were not accepted; each attempt counts. */
  refusedInARow(from: HispProcess): number;
  /** Ends the sending; what was begun is repeated until it is accepted. */
  stop(): Promise<void>;
  /** Stops, waits until every message is final and reported, or the time is up, and accounts for all. */
  finish(drainMs?: number): Promise<Account>;
}

interface Sent {
  readonly from: HispProcess;
  readonly ids: string[];
  refused: number;
}

const finalEvent = /processed|failed|expired/;

export function startTraffic(world: ProcessWorld, options: TrafficOptions): Traffic {
  const { sender, receiver } = world;
  const { random = createRandom('traffic'), pauseMs = 2_000, secondNode } = options;
  const states = new Map<string, Set<string>>();
  const eventIds = new Map<string, Set<string>>();
  world.onNotification(({ eventType, eventId, messageId }: StatusEvent) => {
    const key = `${messageId} ${eventType}`;
    eventIds.set(key, (eventIds.get(key) ?? new Set()).add(eventId));
    if (finalEvent.test(eventType))
      states.set(messageId, (states.get(messageId) ?? new Set()).add(eventType));
  });
  const { clientOf, forgetHisp } = createClients();
  const sent: readonly Sent[] = [sender, receiver].map((from) => ({ from, ids: [], refused: 0 }));
  let isSending = true;
  let repeated = 0;

  async function sendOne(direction: Sent): Promise<void> {
    const second = typeof secondNode === 'function' ? secondNode() : secondNode;
    const isSecond = direction.from === sender && random() < 0.5;
    const entrance = (isSecond ? second : undefined) ?? direction.from;
    const messageId = `urn:uuid:${randomUUID()}`;
    const body = {
      messageId,
      fromDirectAddress: direction.from.party.address,
      toDirectAddress: (direction.from === sender ? receiver : sender).party.address,
      messageBody: 'x'.repeat(Math.floor(random() * 20_000) + 1),
    };
    for (let isFirst = true; ; isFirst = false) {
      try {
        await clientOf(entrance).post('/messaging/dirmsg/send_ccda', body);
        direction.ids.push(messageId);
        direction.refused = 0;
        return;
      } catch (error) {
        // The clock of the service may have passed the end of the token.
        if ((error as { status?: number }).status === 401) forgetHisp(entrance);
        if (isFirst) repeated++;
        direction.refused++;
        await sleep(100);
      }
    }
  }

  const senders = Array.from({ length: options.atOnce }, async (_, index) => {
    while (isSending) {
      await sendOne(sent[index % 2] as Sent);
      await sleep(pauseMs * random());
    }
  });

  async function stop(): Promise<void> {
    isSending = false;
    await Promise.all(senders);
  }

  async function readStates(
    from: HispProcess,
    messageIds: readonly string[],
  ): Promise<readonly { messageId: string; messageStatus: string }[]> {
    try {
      const answer = await clientOf(from).post('/messaging/dirmsg/status', { messageIds });
      return (answer as { result: readonly { messageId: string; messageStatus: string }[] }).result;
    } catch {
      forgetHisp(from);
      return [];
    }
  }

  /** The final status of each message. */
  async function waitForFinalStates(drainMs: number): Promise<Map<string, string>> {
    const deadline = createDeadline(drainMs);
    const said = new Map<string, string>();
    for (;;) {
      let isDone = true;
      for (const { from, ids } of sent) {
        const open = ids.filter((id) => !finalEvent.test(said.get(id) ?? ''));
        for (let at = 0; at < open.length; at += 100) {
          const result = await readStates(from, open.slice(at, at + 100));
          for (const { messageId, messageStatus } of result) said.set(messageId, messageStatus);
        }
        if (open.length > 0 || ids.some((id) => !states.has(id))) isDone = false;
      }
      if (isDone || deadline.isOver()) return said;
      await sleep(250);
    }
  }

  return {
    get accepted() {
      return sent.reduce((sum, { ids }) => sum + ids.length, 0);
    },
    refusedInARow: (from) => sent.find((one) => one.from === from)?.refused ?? 0,
    stop,
    async finish(drainMs = 180_000) {
      await stop();
      const said = [...(await waitForFinalStates(drainMs))];
      const counts = new Map<string, number>();
      let auditEvents = 0;
      for (const hisp of [receiver, sender]) {
        const { received, auditEvents: events } = await hisp.inspect();
        auditEvents += events;
        for (const wireId of received) counts.set(wireId, (counts.get(wireId) ?? 0) + 1);
      }
      const all = sent.flatMap(({ ids }) => ids);
      const wireIds = sent.flatMap(({ from, ids }) =>
        ids.map((id) => `<${id.slice(9)}@${from.party.domain}>`),
      );
      return {
        accepted: all.length,
        repeated,
        processed: said.filter(([, state]) => state === 'processed').length,
        others: said.filter(([, state]) => state !== 'processed').map(([id, state]) => `${id} ${state}`),
        lost: wireIds.filter((id) => !counts.has(id)),
        doubled: [...counts].filter(([, count]) => count > 1).map(([id]) => id),
        unreported: all.filter((id) => !states.has(id)),
        contradicted: [...states].filter(([, types]) => types.size > 1).map(([id]) => id),
        reportedAgain: [...eventIds].filter(([, ids]) => ids.size > 1).map(([key]) => key),
        auditEvents,
      };
    },
  };
}

/** One token per run of a HISP: tokens are limited, and a restart moves the API to another port. */
function createClients(): {
  clientOf(hisp: HispProcess): EdgeClient;
  forgetHisp(hisp: HispProcess): void;
} {
  const known = new Map<HispProcess, { ready: HispProcess['ready']; client: EdgeClient }>();
  return {
    clientOf(hisp) {
      const { ready } = hisp;
      const last = known.get(hisp);
      if (last?.ready === ready) return last.client;
      const client = createEdgeClient(ready, 'messaging.api');
      known.set(hisp, { ready, client });
      return client;
    },
    forgetHisp: (hisp) => void known.delete(hisp),
  };
}
