import type { Socket } from 'node:net';
import type { Transform, TransformCallback } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';

/** The stream that stuffs dots, with its private fields. */
interface DataStream extends Transform {
  inByteCount: number;
  outByteCount: number;
  lastByte: number | false;
}

/** Internals of the library. */
interface WithSocket {
  readonly _socket?: Socket | false;
}

type SendStreamCallback = (error: Error | null, reply: string) => void;

const base = SMTPConnection.prototype as unknown as {
  _createSendStream(callback: SendStreamCallback): DataStream;
};

/**
 * The library's connection with two differences: a piece of a message that needs no change is scanned
 * once, in a fifth of the time, and passed on; and a small message is one write.
 */
export class QuickConnection extends SMTPConnection {
  /** Of the message that is sent next. A small one leaves in one piece with the dot that ends it. */
  isSmall = false;
  /** Of the message that is sent next: its writer vouches for its line ends, and only dots are looked for. */
  isCanonical = false;

  protected _createSendStream(callback: SendStreamCallback): DataStream {
    const stream = base._createSendStream.call(this, callback);
    const { _socket: socket } = this as unknown as WithSocket;
    if (this.isSmall && socket) {
      socket.cork();
      stream.once('close', () => socket.uncork());
    }
    const change = stream._transform.bind(stream);
    const isReady = this.isCanonical ? hasNoDotLine : isReadyToSend;
    stream._transform = (chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void => {
      if (chunk.length === 0 || !isReady(chunk, stream.lastByte)) return change(chunk, encoding, done);
      stream.inByteCount += chunk.length;
      stream.outByteCount += chunk.length;
      stream.lastByte = chunk.at(-1) ?? false;
      stream.push(chunk);
      done();
    };
    return stream;
  }
}

const [lineFeed, carriageReturn, dot] = [0x0a, 0x0d, 0x2e];

/** True if no line starts with a dot, whatever ends the lines. `before` as for {@link isReadyToSend}. */
export function hasNoDotLine(chunk: Buffer, before: number | false): boolean {
  const startsLine = before === false || before === lineFeed;
  return !(startsLine && chunk[0] === dot) && !chunk.includes('\n.', 0, 'latin1');
}

/**
 * True if every CR is followed by LF, every LF preceded by CR, and no line starts with a dot (RFC 5321 §4.5.2). `before` is the byte
 * in front of the chunk, false at the beginning of the message. Looks at line ends only, which are found by native code.
 */
export function isReadyToSend(chunk: Uint8Array, before: number | false): boolean {
  const [first] = chunk;
  if ((before === carriageReturn) !== (first === lineFeed)) return false;
  if (first === dot && (before === false || before === lineFeed)) return false;
  if (first === lineFeed && chunk[1] === dot) return false;
  // The next LF for which a preceding CR was not found yet.
  let feed = chunk.indexOf(lineFeed, 1);
  for (let at = chunk.indexOf(carriageReturn); at >= 0; at = chunk.indexOf(carriageReturn, at + 2)) {
    if (at === chunk.length - 1) break;
    if (feed !== at + 1 || chunk[at + 2] === dot) return false;
    feed = chunk.indexOf(lineFeed, at + 2);
  }
  return feed < 0;
}
