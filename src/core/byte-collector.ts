/**
 * Collects chunks in separate memory, which can be released at once instead of at the next garbage
 * collection.
 */
export interface ByteCollector {
  readonly length: number;
  /** Bytes of memory held. */
  readonly capacity: number;
  /** The capacity after adding this many bytes. */
  capacityFor(bytes: number): number;
  /** Copies the bytes, so that the chunk's memory is not kept. */
  add(chunk: Uint8Array): void;
  /** The bytes so far, to look at until the next ones are added. */
  peek(): Buffer;
  /** The bytes, in memory that belongs to the caller from now on. */
  take(): Buffer;
  /** Forgets the bytes and gives their memory back. */
  drop(): void;
}

const leastCapacity = 64 * 1024;

/**
 * Above this the memory grows by a quarter: a peer that announced some bytes too few needs no second block of
 * that size.
 */
const largeCapacity = 1024 * 1024;

/**
 * `expected` bytes are provided at once; untouched memory costs nothing. Beyond that the memory doubles, and
 * when it is large grows by a quarter, up to `limit` as long as the bytes fit into it.
 */
export function createByteCollector(expected = 0, limit = Infinity): ByteCollector {
  let buffer = Buffer.allocUnsafeSlow(Math.max(0, expected));
  let length = 0;

  function capacityFor(bytes: number): number {
    const needed = length + bytes;
    if (needed <= buffer.length) return buffer.length;
    const factor = buffer.length < largeCapacity ? 2 : 1.25;
    return Math.max(needed, Math.min(limit, Math.max(leastCapacity, Math.ceil(buffer.length * factor))));
  }

  function resize(capacity: number): void {
    const larger = Buffer.allocUnsafeSlow(capacity);
    larger.set(buffer.subarray(0, length));
    release(buffer);
    buffer = larger;
  }

  return {
    get length() {
      return length;
    },
    get capacity() {
      return buffer.length;
    },
    capacityFor,
    add(chunk) {
      const capacity = capacityFor(chunk.length);
      if (capacity > buffer.length) resize(capacity);
      buffer.set(chunk, length);
      length += chunk.length;
    },
    peek: () => buffer.subarray(0, length),
    take() {
      // The returned bytes may be kept for long, and must not keep twice their size in memory.
      if (length < buffer.length * keptShare) resize(length);
      const bytes = buffer.subarray(0, length);
      buffer = Buffer.allocUnsafeSlow(0);
      length = 0;
      return bytes;
    },
    drop() {
      release(buffer);
      buffer = Buffer.allocUnsafeSlow(0);
      length = 0;
    },
  };
}

const keptShare = 0.9;

function release({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > 0) buffer.transfer(0);
}
