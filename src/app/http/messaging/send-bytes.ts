import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { slicesOf } from '../../../core/index.ts';

const sliceBytes = 256 * 1024;

/** Answers with bytes, a large body piece by piece, so that neither TLS nor a fast client holds up the event loop. */
export function sendBytes(reply: FastifyReply, pieces: readonly Uint8Array[]): FastifyReply {
  const length = pieces.reduce((total, piece) => total + piece.length, 0);
  if (length <= sliceBytes) return reply.send(Buffer.concat(pieces));
  return reply.header('Content-Length', length).send(Readable.from(sliceAll(pieces)));
}

async function* sliceAll(pieces: readonly Uint8Array[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    for (const slice of slicesOf(piece, sliceBytes)) {
      yield slice;
      await nextTurn();
    }
  }
}
