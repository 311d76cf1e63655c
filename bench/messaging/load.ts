/** Sends messages and waits until each one is processed, as the sender's webhook reports. */
import { randomBytes } from 'node:crypto';
import { createEdgeClient } from '../../src/app/dev/index.ts';
import type { ProcessWorld } from '../../test/processes/world.ts';

export interface LoadOptions {
  readonly sizeBytes: number;
  /** Messages on their way at once, from the send to `processed`; with `perSecond`, sends under way. */
  readonly atOnce: number;
  /** Messages in all; or, with `perSecond`, as long as `seconds`. */
  readonly count: number;
  /** Sends per second; as fast as answers come if omitted. */
  readonly perSecond?: number;
}

export interface LoadResult {
  readonly count: number;
  readonly refused: number;
  readonly acceptedPerSecond: number;
  readonly processedPerSecond: number;
  /** From the answer of the send to the notification of `processed`, in milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly seconds: number;
}

const timeoutMs = 120_000;

export async function runLoad(world: ProcessWorld, options: LoadOptions): Promise<LoadResult> {
  const { sender, receiver } = world;
  const client = createEdgeClient(sender.ready, 'messaging.api');
  const body = {
    fromDirectAddress: sender.party.address,
    toDirectAddress: receiver.party.address,
    messageBody: 'one of many',
    emailAttachmentList: [
      {
        attachmentClass: 'application/octet-stream',
        attachmentContent: randomBytes(options.sizeBytes).toString('base64'),
      },
    ],
  };
  const acceptedAt = new Map<string, number>();
  const processedAt = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  let wake = (): void => {};
  const untilProcessed = async (messageId: string): Promise<void> => {
    if (!processedAt.has(messageId)) await new Promise<void>((resolve) => waiting.set(messageId, resolve));
  };
  world.onNotification(({ eventType, messageId }) => {
    if (eventType !== 'message.processed') return;
    processedAt.set(messageId, performance.now());
    waiting.get(messageId)?.();
    waiting.delete(messageId);
    wake();
  });
  await client.get('/messaging/dirmsg/inbox?limit=1');
  const startedAt = performance.now();
  let started = 0;
  let refused = 0;

  async function work(): Promise<void> {
    while (started < options.count) {
      const turn = started++;
      if (options.perSecond !== undefined)
        await sleep(startedAt + (turn * 1000) / options.perSecond - performance.now());
      try {
        const { messageId } = (await client.post('/messaging/dirmsg/send_ccda', body)) as {
          messageId: string;
        };
        acceptedAt.set(messageId, performance.now());
        if (options.perSecond === undefined) await untilProcessed(messageId);
      } catch {
        refused++;
      }
    }
  }

  await Promise.all(Array.from({ length: options.atOnce }, work));
  const acceptedMs = performance.now() - startedAt;
  const deadlineAt = performance.now() + timeoutMs;
  while ([...acceptedAt.keys()].some((id) => !processedAt.has(id))) {
    if (performance.now() > deadlineAt)
      throw new Error(`${missing(acceptedAt, processedAt)} never processed`);
    await Promise.race([new Promise<void>((resolve) => (wake = resolve)), sleep(100)]);
  }
  const lastMs = Math.max(...processedAt.values()) - startedAt;
  const waits = [...acceptedAt]
    .map(([id, at]) => Math.max(0, (processedAt.get(id) ?? at) - at))
    .toSorted((a, b) => a - b);
  return {
    count: acceptedAt.size,
    refused,
    acceptedPerSecond: (acceptedAt.size * 1000) / acceptedMs,
    processedPerSecond: (acceptedAt.size * 1000) / lastMs,
    p50Ms: waits[Math.floor(waits.length * 0.5)] ?? 0,
    p99Ms: waits[Math.floor(waits.length * 0.99)] ?? 0,
    seconds: lastMs / 1000,
  };
}

function missing(accepted: ReadonlyMap<string, number>, processed: ReadonlyMap<string, number>): number {
  return [...accepted.keys()].filter((id) => !processed.has(id)).length;
}

async function sleep(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
