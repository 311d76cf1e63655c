import type { Duplex } from 'node:stream';

/** What a connection brings, taken in lines and in counted octets; nothing is read ahead of need. */
export interface OctetReader {
  /**
   * The next line without its end (LF, or CR LF). Undefined when the connection has ended; `too-long` after
   * more than `maxOctets` without an end, and then the connection is of no more use.
   */
  readLine(maxOctets: number): Promise<Buffer | 'too-long' | undefined>;
  /** Exactly so many octets; undefined if the connection ended before. */
  readOctets(count: number): Promise<Buffer | undefined>;
  /** Reads and forgets; false if the connection ended before. */
  skipOctets(count: number): Promise<boolean>;
  /** True if something has come that nobody has taken. */
  hasMore(): boolean;
  /** Stops reading, so that the stream below can be given to TLS. */
  detach(): void;
}

const lf = 0x0a;
const cr = 0x0d;

export function createOctetReader(stream: Duplex): OctetReader {
  let pending: Buffer = Buffer.alloc(0);
  let isEnded = false;
  let wake: (() => void) | undefined;
  const onReadable = (): void => wake?.();
  const onEnd = (): void => {
    isEnded = true;
    wake?.();
  };
  stream.on('readable', onReadable);
  for (const event of ['end', 'close', 'error']) stream.on(event, onEnd);

  /** False when the connection has ended. */
  async function readMore(): Promise<boolean> {
    for (;;) {
      const chunk = stream.read() as Buffer | null;
      if (chunk !== null) {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        return true;
      }
      if (isEnded) return false;
      await new Promise<void>((resolve) => (wake = resolve));
      wake = undefined;
    }
  }

  function take(count: number): Buffer {
    const taken = pending.subarray(0, count);
    pending = pending.subarray(count);
    return taken;
  }

  /** Passes on what comes, in pieces, until it is `count` octets. */
  async function passOctets(count: number, pass: (piece: Buffer) => void): Promise<boolean> {
    let left = count;
    while (left > 0) {
      if (pending.length === 0 && !(await readMore())) return false;
      const piece = take(Math.min(left, pending.length));
      left -= piece.length;
      pass(piece);
    }
    return true;
  }

  return {
    async readLine(maxOctets) {
      let searched = 0;
      for (;;) {
        const end = pending.indexOf(lf, searched);
        if (end > maxOctets || (end === -1 && pending.length > maxOctets)) return 'too-long';
        if (end !== -1) {
          const line = take(end + 1).subarray(0, -1);
          return line.at(-1) === cr ? line.subarray(0, -1) : line;
        }
        searched = pending.length;
        if (!(await readMore())) return undefined;
      }
    },
    async readOctets(count) {
      const pieces: Buffer[] = [];
      return (await passOctets(count, (piece) => pieces.push(piece))) ? Buffer.concat(pieces) : undefined;
    },
    skipOctets: (count) => passOctets(count, () => {}),
    hasMore: () => pending.length > 0 || stream.readableLength > 0,
    detach() {
      stream.off('readable', onReadable);
      for (const event of ['end', 'close', 'error']) stream.off(event, onEnd);
    },
  };
}
