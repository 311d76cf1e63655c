/** Lets work on large messages wait until the memory that it needs is free. First come, first served. */
export interface ByteGate {
  /** Fulfilled with the function that gives the bytes back. Work larger than the whole gate passes alone. */
  enter(bytes: number): Promise<() => void>;
}

export function createByteGate(maxBytes: number): ByteGate {
  const waiting: { readonly bytes: number; readonly pass: () => void }[] = [];
  let used = 0;

  function admitNext(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (used > 0 && used + next.bytes > maxBytes) return;
      waiting.shift();
      used += next.bytes;
      next.pass();
    }
  }

  return {
    async enter(bytes) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ bytes, pass: resolve });
      admitNext();
      await promise;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        used -= bytes;
        admitNext();
      };
    },
  };
}
