import { createHash } from 'node:crypto';
import type { OaepParameters } from './algorithms.ts';

/**
 * Removes OAEP padding (RFC 8017 §7.1.2 step 3) for the case that OpenSSL's interface cannot express: a mask
 * function whose hash differs from that of the label. Every fault gives undefined after the same work, so
 * that the place of the fault cannot be timed (Manger's attack).
 */
export function unwrapOaep(
  encoded: Uint8Array,
  { digest, maskDigest, label }: OaepParameters,
): Buffer | undefined {
  const labelHash = createHash(digest).update(label).digest();
  const hashBytes = labelHash.length;
  if (encoded.length < 2 * hashBytes + 2) return undefined;
  const maskedSeed = encoded.subarray(1, 1 + hashBytes);
  const maskedBlock = encoded.subarray(1 + hashBytes);
  const seed = exclusiveOr(maskedSeed, mask(maskDigest, maskedBlock, hashBytes));
  const block = exclusiveOr(maskedBlock, mask(maskDigest, seed, maskedBlock.length));

  let fault = encoded[0] ?? 1;
  for (let index = 0; index < hashBytes; index++) fault |= (block[index] ?? 0) ^ (labelHash[index] ?? 0);
  // The first byte that is not zero must be the 01 before the message; `isOpen` is 1 until then.
  let isOpen = 1;
  let start = 0;
  for (let index = hashBytes; index < block.length; index++) {
    const byte = block[index] ?? 0;
    const isZero = ((byte - 1) >>> 31) & 1;
    const isOne = (((byte ^ 1) - 1) >>> 31) & 1;
    start |= isOpen & isOne ? index + 1 : 0;
    fault |= isOpen & ~isZero & ~isOne & 1;
    isOpen &= isZero;
  }
  return (fault | isOpen) === 0 ? block.subarray(start) : undefined;
}

/** MGF1 (RFC 8017 §B.2.1). */
function mask(digest: string, seed: Uint8Array, sizeBytes: number): Buffer {
  const blocks: Buffer[] = [];
  const counter = Buffer.alloc(4);
  for (let index = 0, size = 0; size < sizeBytes; index++) {
    counter.writeUInt32BE(index);
    const block = createHash(digest).update(seed).update(counter).digest();
    blocks.push(block);
    size += block.length;
  }
  return Buffer.concat(blocks, sizeBytes);
}

function exclusiveOr(a: Uint8Array, b: Uint8Array): Buffer {
  return Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));
}
