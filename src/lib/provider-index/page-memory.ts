/**
 * Memory of pages that have been sent, for later pages of about the same size. New memory for a page of 1000
 * records is about a hundred page faults, and reminds the garbage collector of its work: together up to a
 * third of the page's processor time.
 */

// Smaller pages cost little; larger ones are rare.
const minBytes = 1 << 15;
const maxBytes = 1 << 21;
// Of each size, a power of two. Pages that slow clients read are not among them.
const maxKept = 4;

const kept = new Map<number, ArrayBuffer[]>();
const lent = new WeakSet<ArrayBufferLike>();

/** Bytes for a page, with anything in them. */
export function takePage(bytes: number): Uint8Array {
  if (bytes < minBytes || bytes > maxBytes) return Buffer.allocUnsafeSlow(bytes);
  const size = 2 ** Math.ceil(Math.log2(bytes));
  const buffer = kept.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size).buffer;
  lent.add(buffer);
  return new Uint8Array(buffer, 0, bytes);
}

/**
 * Gives the memory of a page to later pages; for whoever holds the page alone and has no further use for it.
 * Bytes that are no page, or were given back before, are left alone.
 */
export function releasePage({ buffer }: Uint8Array): void {
  if (!lent.delete(buffer)) return;
  const size = buffer.byteLength;
  const free = kept.get(size) ?? [];
  kept.set(size, free);
  if (free.length < maxKept) free.push(buffer as ArrayBuffer);
}
