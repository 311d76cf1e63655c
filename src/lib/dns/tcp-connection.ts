import type { Socket } from 'node:net';
import type { Evictable } from '../../core/index.ts';
import { maxPipelinedQueries } from './limits.ts';
import { respond, type ListZones } from './respond.ts';

export interface TcpConnectionOptions {
  readonly zones: ListZones;
  readonly idleMs: number;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Serves the questions of one TCP connection, several at once and answered in the order they become ready
 * (RFC 7766 §6.2.1.1). Reading pauses while too many are open or the asker does not take its answers, so a
 * connection uses a bounded amount of memory; silence or an unread answer closes it.
 */
export function serveTcpConnection(
  socket: Socket,
  { zones, idleMs, onError }: TcpConnectionOptions,
): Evictable {
  let answeredMs = performance.now();
  let received: Buffer = Buffer.alloc(0);
  let open = 0;
  let hasAsked = false;
  let isEnded = false;

  const isFull = () => open >= maxPipelinedQueries || socket.writableNeedDrain;
  const advance = () => {
    while (!isFull()) {
      const query = takeMessage();
      if (query === undefined) break;
      open++;
      void respond(query, 'tcp', zones, onError).then(finish);
    }
    if (isFull()) socket.pause();
    else if (isEnded && open === 0) socket.end();
    else socket.resume();
  };
  const takeMessage = (): Buffer | undefined => {
    if (received.length < 2) return undefined;
    const end = 2 + received.readUInt16BE(0);
    if (received.length < end) return undefined;
    const message = received.subarray(2, end);
    received = received.subarray(end);
    return message;
  };
  const finish = (response: Buffer | undefined) => {
    open--;
    hasAsked = true;
    answeredMs = performance.now();
    if (socket.destroyed) return;
    // Without an answer to give, the asker would wait for one; the connection says it sooner.
    if (response === undefined) return void socket.destroy();
    socket.write(Buffer.concat([Buffer.of(response.length >> 8, response.length & 0xff), response]));
    advance();
  };

  // A failing connection concerns its peer alone; 'close' follows.
  socket.on('error', () => {});
  socket.on('drain', advance);
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    advance();
  });
  socket.on('end', () => {
    isEnded = true;
    advance();
  });
  socket.setTimeout(idleMs, () => socket.destroy());
  return { idleSinceMs: () => (open > 0 ? undefined : answeredMs), hasAsked: () => hasAsked };
}
