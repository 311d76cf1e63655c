import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { slicesOf } from '../../../core/index.ts';

const smallBytes = 256 * 1024;
/** Small, so that the rate at which a slow client takes them is seen (`admission.ts`). */
const sliceBytes = 16 * 1024;

/**
 * Answers with bytes, a large body piece by piece, so that neither TLS nor a fast client holds up the event
 * loop.
 */
export function sendBytes(reply: FastifyReply, pieces: readonly Uint8Array[]): FastifyReply {
  const length = pieces.reduce((total, piece) => total + piece.length, 0);
  if (length <= smallBytes) return reply.send(Buffer.concat(pieces));
  return reply.header('Content-Length', length).send(Readable.from(sliceAll(pieces)));
}

// No turn is waited for after the last slice: the answer ends with it, and so does the request.
async function* sliceAll(pieces: readonly Uint8Array[]): AsyncGenerator<Buffer> {
  const slices = pieces.flatMap((piece) => [...slicesOf(piece, sliceBytes)]);
  for (const [index, slice] of slices.entries()) {
    if (index > 0) await nextTurn();
    yield slice;
  }
}
