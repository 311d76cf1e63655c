const smallBytes = 256 * 1024;
const copiesOfContent = 2.5;

/**
 * Memory of an attempt at a message of this size, which is there twice: plain, and sealed (base64), stored or
 * as JSON. Small ones are bounded by the slots.
 */
export function memoryOfContent(sizeBytes: number): number {
  return sizeBytes > smallBytes ? sizeBytes * copiesOfContent : 0;
}
