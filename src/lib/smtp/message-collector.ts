import type { Readable } from 'node:stream';
import { joinInSlices } from '../../core/index.ts';

/** The bytes of all messages being received, bounded together. */
export interface ByteBudget {
  /** False, and nothing taken, when the budget does not suffice. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function createByteBudget(maxBytes: number): ByteBudget {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > maxBytes) return false;
      taken += bytes;
      return true;
    },
    give(bytes) {
      taken -= bytes;
    },
  };
}

export type CollectedMessage =
  | { readonly outcome: 'whole'; readonly message: Buffer; release(): void }
  | { readonly outcome: 'too-large' | 'no-memory' | 'broken-off'; release(): void };

/**
 * Reads a message to its end, keeping nothing once it is over the limit or the budget: the rest is read and dropped,
 * because SMTP has no other way to get to the reply. `release` gives back what was taken from the budget.
 */
export async function collectMessage(
  stream: Readable,
  maxBytes: number,
  budget: ByteBudget,
): Promise<CollectedMessage> {
  let chunks: Buffer[] = [];
  let kept = 0;
  let failure: 'too-large' | 'no-memory' | 'broken-off' | undefined;
  const release = () => {
    budget.give(kept);
    kept = 0;
    chunks = [];
  };
  const fail = (why: 'too-large' | 'no-memory' | 'broken-off') => {
    failure ??= why;
    release();
  };
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (failure !== undefined) continue;
      if (kept + chunk.length > maxBytes) fail('too-large');
      else if (!budget.take(chunk.length)) fail('no-memory');
      else {
        chunks.push(chunk);
        kept += chunk.length;
      }
    }
  } catch {
    fail('broken-off');
  }
  if (failure !== undefined) return { outcome: failure, release };
  const message = await joinInSlices(chunks);
  chunks = [];
  return { outcome: 'whole', message, release };
}
