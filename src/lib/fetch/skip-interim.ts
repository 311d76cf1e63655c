import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { loadUndici } from './load-undici.ts';

const maxHeadBytes = 16_384;
const maxSkippedBytes = 65_536;
/** RFC 9110 §15.2: any 1xx, which a client reads even if it did not ask for one. */
const interimLine = /^HTTP\/1\.[01] 1\d\d(?:[ \r\n]|$)/;
const longestLine = 'HTTP/1.1 100 '.length;

/**
 * Makes connections on which interim responses are skipped: undici ends the connection at a 100 that it did
 * not ask for.
 */
export function createSkippingConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = loadUndici().buildConnector({ ...options, allowH2: false });
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      skipInterim(socket);
      callback(null, socket);
    });
}

/** Of one request at a time: a response begins with the first bytes after something was written. */
function skipInterim(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  let isAtHead = true;
  let skipped = 0;
  let held: Buffer = Buffer.alloc(0);

  /** The bytes that are not of an interim response; null while that is not known. */
  function filter(): Buffer | null {
    for (;;) {
      const start = held.toString('latin1', 0, longestLine);
      const isInterim = interimLine.test(start);
      const isUnknown = start.length < longestLine && 'HTTP/1.'.startsWith(start.slice(0, 7));
      const end = isInterim ? held.indexOf('\r\n\r\n') : -1;
      const isWaiting = isInterim ? end < 0 && held.length < maxHeadBytes : isUnknown;
      if (isWaiting) return null;
      if (end < 0 || skipped > maxSkippedBytes) break;
      skipped += end + 4;
      held = held.subarray(end + 4);
      if (held.length === 0) return null;
    }
    isAtHead = false;
    return held;
  }

  socket.read = (size?: number): Buffer | null => {
    const chunk = read(size) as Buffer | null;
    if (!isAtHead || chunk === null) return chunk;
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const passed = filter();
    if (passed !== null) held = Buffer.alloc(0);
    return passed;
  };
  socket.write = (...given: unknown[]): boolean => {
    isAtHead = true;
    skipped = 0;
    return write(...given);
  };
}
