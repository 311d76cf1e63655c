import { setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Agent, RefusedRecipient, ResolvedRecipients, UsableRecipient } from '../agent/index.ts';
import type { ClaimedDestination } from './queue-items.ts';
import type { DeliveryQueue } from './queue.ts';

/** A destination's share of a sealed message. */
export interface SealedShare {
  readonly usable: readonly UsableRecipient[];
  readonly refused: readonly RefusedRecipient[];
  /** For the usable ones; undefined if there is none, and once a mail server has it. */
  sealed: Uint8Array | undefined;
}

export interface SharedSeals {
  /**
   * The message sealed for this destination. The first destination of a message that is worked on resolves
   * the recipients of all and seals once for the usable ones (AS-41, AS-42); the others get the same bytes. A
   * destination that asks a second time is being retried: then the message is sealed for its remaining
   * recipients.
   */
  get(item: ClaimedDestination): Promise<SealedShare>;
  /** Bytes of a message that is still in progress, so that it need not be read again. */
  remember(deliveryId: string, message: Uint8Array): void;
}

interface Round {
  readonly sealed: Promise<Uint8Array | undefined>;
  /** By destination id: those that have not used the sealed message yet. */
  readonly shares: Map<string, ResolvedRecipients>;
}

/** Sealed messages of several destinations that are kept together at most. */
const maxKeptBytes = 64 * 1024 * 1024;
/** Plain messages in progress, and the largest of them; larger ones are read again when their turn comes. */
const maxCachedBytes = 64 * 1024 * 1024;
const maxCachedMessageBytes = 256 * 1024;
/**
 * A destination whose certificates take longer to find is sealed for by itself, so that it holds up no other.
 */
const othersWaitMs = 3_000;
/** Assumed until it is known. */
const roundBytes = 64 * 1024;
/** After this time trust is decided again. */
const keptMs = 60_000;

export function createSharedSeals(
  agent: Agent,
  queue: Pick<DeliveryQueue, 'openMessage' | 'listSiblings'>,
): SharedSeals {
  const rounds = new LRUCache<string, Promise<Round>>({ maxSize: maxKeptBytes });
  const cached = new LRUCache<string, Uint8Array>({ maxSize: maxCachedBytes });

  async function open(deliveryId: string): Promise<Uint8Array> {
    const message = cached.get(deliveryId);
    cached.delete(deliveryId);
    return message ?? queue.openMessage(deliveryId);
  }

  async function seal(
    item: ClaimedDestination,
    usable: readonly UsableRecipient[],
  ): Promise<Uint8Array | undefined> {
    if (usable.length === 0) {
      cached.delete(item.deliveryId);
      return undefined;
    }
    const message = await open(item.deliveryId);
    return agent.seal(item.sender, message, usable);
  }

  async function sealAlone(item: ClaimedDestination): Promise<SealedShare> {
    const resolved = await agent.resolveRecipients(item.sender, item.recipients);
    return { ...resolved, sealed: await seal(item, resolved.usable) };
  }

  async function begin(item: ClaimedDestination): Promise<Round> {
    const siblings = await queue.listSiblings(item);
    const resolve = (recipients: ClaimedDestination['recipients']) =>
      agent.resolveRecipients(item.sender, recipients);
    const shares = new Map<string, ResolvedRecipients>();
    const late = new AbortController();
    const others = Promise.all(
      siblings.map(async ({ id, recipients }) => {
        // A sibling that cannot be resolved now finds that out in its own attempt.
        const resolved = await resolve(recipients).catch(() => undefined);
        if (resolved !== undefined && !late.signal.aborted) shares.set(id, resolved);
      }),
    );
    shares.set(item.id, await resolve(item.recipients));
    const timer = new AbortController();
    await Promise.race([others, wait(othersWaitMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
    late.abort();
    const usable = [...shares.values()].flatMap((share) => share.usable);
    const sealed = seal(item, usable);
    if (shares.size > 1) setTimeout(() => shares.clear(), keptMs).unref();
    // A failure rejects each waiting destination; without one, an unhandled rejection would end the process.
    sealed.catch(() => {});
    return { sealed, shares };
  }

  async function getShared(item: ClaimedDestination): Promise<SealedShare> {
    for (;;) {
      const known = rounds.get(item.deliveryId);
      const starting = known ?? begin(item);
      if (known === undefined) {
        rounds.set(item.deliveryId, starting, { size: roundBytes });
        starting.catch(() => rounds.delete(item.deliveryId));
      }
      const round = await starting;
      const share = round.shares.get(item.id);
      if (share === undefined) {
        // Tried again, or found too late for this round.
        if (rounds.get(item.deliveryId) === starting) rounds.delete(item.deliveryId);
        continue;
      }
      round.shares.delete(item.id);
      const isLast = round.shares.size === 0;
      if (isLast) rounds.delete(item.deliveryId);
      const sealed = share.usable.length === 0 ? undefined : await round.sealed;
      if (!isLast && sealed !== undefined && rounds.get(item.deliveryId) === starting)
        rounds.set(item.deliveryId, starting, { size: sealed.length });
      return { ...share, sealed };
    }
  }

  return {
    get: (item) => (item.destinations === 1 ? sealAlone(item) : getShared(item)),
    remember(deliveryId, message) {
      if (message.length <= maxCachedMessageBytes)
        cached.set(deliveryId, message, { size: Math.max(1, message.length) });
    },
  };
}
