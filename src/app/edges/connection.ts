import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import type { Evictable } from '../../core/index.ts';
import { createOctetReader, type OctetReader } from './octet-reader.ts';

/** The client of one connection, as the protocols see it. */
export interface EdgeConnection {
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly reader: OctetReader;
  /** Resolves when the client has taken it, or is gone (false). */
  write(data: string | Uint8Array): Promise<boolean>;
  /** Octets of before must not be taken for octets of the secured session: false if there are any. */
  startTls(): Promise<boolean>;
  /** Ends it if nothing comes from the client for so long. */
  setIdleTimeout(ms: number): void;
  /** The client has signed in: those that have not make room first. */
  noteSignIn(): void;
  /** True from the moment at which the server closes: the next line is the end, and no command is begun. */
  readonly isClosing: boolean;
  end(): void;
  destroy(): void;
}

export interface ServerConnection extends EdgeConnection, Evictable {
  /** Lets the session answer what it owes, take its leave and end. */
  close(): void;
}

/** A handshake that takes longer is an attack or a fault. */
const handshakeMs = 20_000;
/** A client that takes an answer or brings octets more slowly is cut off: it would hold their memory. */
const slowest = { answerMs: 60_000, bytesPerMs: 20 };

export function createConnection(
  raw: Socket,
  secureContext: () => SecureContext,
  { answerMs, bytesPerMs } = slowest,
): ServerConnection {
  let stream: Socket = raw;
  let reader = createOctetReader(raw);
  let isSecure = false;
  let isClosing = false;
  let idleSince = performance.now();
  let isSecuring = false;
  let isSignedIn = false;
  let endReading = (): void => {};
  raw.on('error', () => {});
  raw.setNoDelay(true);
  const cutOffAfter = (octets: number): NodeJS.Timeout =>
    setTimeout(() => raw.destroy(), answerMs + octets / bytesPerMs);

  /** Reading a command is idle, everything else is owed. */
  const timed: OctetReader = {
    readLine: async (maxOctets) => {
      idleSince = performance.now();
      // A client that says nothing does not hold up the end.
      const line = await Promise.race([
        reader.readLine(maxOctets),
        new Promise<undefined>((resolve) => (endReading = () => resolve(undefined))),
      ]);
      idleSince = Number.NaN;
      return line;
    },
    async readOctets(count) {
      const timer = cutOffAfter(count);
      try {
        return await reader.readOctets(count);
      } finally {
        clearTimeout(timer);
      }
    },
    skipOctets: (count) => reader.skipOctets(count),
    hasMore: () => reader.hasMore(),
    detach: () => reader.detach(),
  };

  async function secure(): Promise<boolean> {
    reader.detach();
    const secured = new TLSSocket(raw, { isServer: true, secureContext: secureContext() });
    secured.on('error', () => {});
    isSecuring = true;
    const timer = setTimeout(() => raw.destroy(), handshakeMs);
    const isDone = await new Promise<boolean>((resolve) => {
      secured.once('secure', () => resolve(true));
      secured.once('close', () => resolve(false));
      raw.once('close', () => resolve(false));
    });
    clearTimeout(timer);
    isSecuring = false;
    if (!isDone) return false;
    stream = secured;
    reader = createOctetReader(secured);
    isSecure = true;
    return true;
  }

  return {
    remoteAddress: raw.remoteAddress ?? '',
    get isSecure() {
      return isSecure;
    },
    reader: timed,
    write(data) {
      if (stream.destroyed) return Promise.resolve(false);
      return new Promise((resolve) => {
        const onClose = (): void => {
          clearTimeout(timer);
          resolve(false);
        };
        const timer = cutOffAfter(data.length);
        stream.once('close', onClose);
        stream.write(data, (error) => {
          clearTimeout(timer);
          stream.off('close', onClose);
          resolve(error === undefined || error === null);
        });
      });
    },
    async startTls() {
      if (isSecure || reader.hasMore()) return false;
      return secure();
    },
    setIdleTimeout(ms) {
      raw.setTimeout(ms, () => raw.destroy());
    },
    get isClosing() {
      return isClosing;
    },
    end: () => void stream.end(),
    noteSignIn: () => void (isSignedIn = true),
    hasAsked: () => isSignedIn,
    idleSinceMs: () => (Number.isNaN(idleSince) ? undefined : idleSince),
    close() {
      isClosing = true;
      endReading();
      if (isSecuring) raw.destroy();
    },
    destroy: () => void raw.destroy(),
  };
}
