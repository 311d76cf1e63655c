import type { Readable } from 'node:stream';
import { createByteCollector, type Reservation } from '../../core/index.ts';
import type { SmtpReply } from './reply.ts';

export interface Collecting {
  readonly maxBytes: number;
  /** The memory reserved for this message; it grows with the message. */
  readonly reservation: Reservation;
  /** Called with the header as soon as it is complete; with a reply, nothing of the message is kept. */
  readonly checkHeader?: ((header: Buffer) => SmtpReply | undefined) | undefined;
  /** A header that has not ended by then is checked as it is. */
  readonly maxHeaderBytes: number;
}

export type CollectedMessage =
  | { readonly outcome: 'whole'; readonly message: Buffer }
  | { readonly outcome: 'too-large' | 'no-memory' | 'broken-off' }
  | { readonly outcome: 'refused'; readonly reply: SmtpReply };

const headerEnd = Buffer.from('\r\n\r\n');

/**
 * Reads a message to its end, keeping nothing once it is over the limit or the budget or its header was
 * refused: the rest is read and dropped, because SMTP allows a reply only after the message.
 */
export async function collectMessage(
  stream: Readable,
  { maxBytes, reservation, checkHeader, maxHeaderBytes }: Collecting,
): Promise<CollectedMessage> {
  const collector = createByteCollector(reservation.amount, maxBytes);
  let failure: Exclude<CollectedMessage, { outcome: 'whole' }> | undefined;
  let isChecked = checkHeader === undefined;
  // The end of the header may be split between two chunks.
  let searchFrom = 0;
  const fail = (why: Exclude<CollectedMessage, { outcome: 'whole' }>): void => {
    failure ??= why;
    collector.drop();
    reservation.release();
  };

  function check(isEnd: boolean): void {
    if (isChecked) return;
    const head = collector.peek();
    const at = head.indexOf(headerEnd, searchFrom);
    searchFrom = Math.max(0, head.length - headerEnd.length);
    if (at < 0 && !isEnd && head.length < maxHeaderBytes) return;
    isChecked = true;
    const reply = checkHeader?.(at < 0 ? head : head.subarray(0, at + headerEnd.length));
    if (reply !== undefined) fail({ outcome: 'refused', reply });
  }

  function take(chunk: Buffer): void {
    if (failure !== undefined) return;
    if (collector.length + chunk.length > maxBytes) fail({ outcome: 'too-large' });
    else if (!makeRoom(chunk.length)) fail({ outcome: 'no-memory' });
    else {
      collector.add(chunk);
      check(false);
    }
  }

  if (!(await readWhole(stream, take))) fail({ outcome: 'broken-off' });
  else if (failure === undefined) check(true);
  if (failure !== undefined) return failure;
  return { outcome: 'whole', message: collector.take() };

  function makeRoom(bytes: number): boolean {
    const missing = collector.capacityFor(bytes) - reservation.amount;
    return missing <= 0 || reservation.grow(missing) === undefined;
  }
}

/**
 * False if the stream breaks off. Its events cost a fraction of its iterator, which counts for small
 * messages.
 */
function readWhole(stream: Readable, take: (chunk: Buffer) => void): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  stream.on('data', (chunk: Buffer) => {
    try {
      take(chunk);
    } catch {
      // No memory for it: the sender tries again, as after a message that breaks off.
      resolve(false);
    }
  });
  stream.once('end', () => resolve(true));
  stream.once('error', () => resolve(false));
  stream.once('close', () => resolve(false));
  return promise;
}
