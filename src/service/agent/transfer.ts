import type { TransferListItem } from 'node:worker_threads';

// Smaller ones may lie in memory that Node shares out, and copying them costs nothing.
const leastTransferredBytes = 64 * 1024;

/** What to hand over so that large bytes move to another thread without being copied. The sender loses them. */
export function listTransfer(bytes: Uint8Array): TransferListItem[] {
  const isLarge = bytes.byteLength >= leastTransferredBytes && bytes.buffer instanceof ArrayBuffer;
  return isLarge ? [bytes.buffer as ArrayBuffer] : [];
}
