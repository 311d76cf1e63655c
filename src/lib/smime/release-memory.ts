/**
 * Gives the memory of bytes that are no longer needed back at once; they are empty afterwards. A cipher
 * answers every chunk in new memory: left to the garbage collector, that of a large message piles up, and
 * clearing it away costs as much as hashing the message.
 */
export function releaseMemory(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // Only memory that nothing else can be a view of.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0);
}
