import type { FastifyReply } from 'fastify';
import { viewAsBuffer } from '../../core/index.ts';
import { releaseAnswer, type DirectoryAnswer } from '../../service/directory/index.ts';

/**
 * Sends the answer of a search. Once the kernel has its last byte, its memory is used for another answer; if
 * the client leaves before that, it is left to the garbage collector.
 */
export function sendAnswer(reply: FastifyReply, mediaType: string, answer: DirectoryAnswer): FastifyReply {
  const { raw } = reply;
  // Before Node's own listener, which parts the response from its connection.
  raw.prependOnceListener('finish', () => {
    if (raw.socket?.destroyed === false) releaseAnswer(answer);
  });
  return reply.type(mediaType).send(viewAsBuffer(answer.json));
}
