import { createDecipheriv, createSecretKey, type CipherGCMTypes } from 'node:crypto';
import { blockBytesOf, type ContentCipher } from './content-cipher.ts';
import { releaseMemory } from './release-memory.ts';
import { lengthOf, type Pieces } from './structure.ts';

/** Encrypted bytes, and where their plain text may go. */
export interface EncryptedContent {
  readonly pieces: Pieces;
  /**
   * True if the plain text may take the place of the encrypted bytes, which saves a large message a third
   * copy of itself.
   */
  readonly isDisposable: boolean;
}

export interface DecryptedContent {
  readonly bytes: Buffer;
  /** False for every fault of padding or tag, without a reason: the bytes are then not to be used. */
  readonly isIntact: boolean;
}

/**
 * Decrypts CBC content and removes its padding (RFC 5652 §6.3). Undefined for a length that no content has.
 */
export function decryptCbc(
  cipher: ContentCipher,
  key: Uint8Array,
  content: EncryptedContent,
): DecryptedContent | undefined {
  const block = blockBytesOf(cipher.name);
  const sizeBytes = lengthOf(content.pieces);
  if (sizeBytes === 0 || sizeBytes % block !== 0) return undefined;
  const decipher = createDecipheriv(cipher.name, createSecretKey(key), cipher.iv).setAutoPadding(false);
  const padded = updateAll((bytes) => decipher.update(bytes), content);
  const paddingBytes = readPadding(padded, block);
  return { bytes: padded.subarray(0, sizeBytes - paddingBytes), isIntact: paddingBytes > 0 };
}

/** The length of the padding, 0 if it is none. */
function readPadding(padded: Buffer, block: number): number {
  const length = padded.at(-1) ?? 0;
  let difference = length === 0 || length > block ? 1 : 0;
  for (let index = 1; index <= block; index++) {
    const byte = padded[padded.length - index] ?? 0;
    difference |= index <= length ? byte ^ length : 0;
  }
  return difference === 0 ? length : 0;
}

/** Decrypts GCM content (RFC 5084). Undefined for a tag of the wrong length. */
export function decryptGcm(
  cipher: ContentCipher,
  key: Uint8Array,
  content: EncryptedContent,
  authentication: { readonly tag: Uint8Array; readonly additionalData: Uint8Array },
): DecryptedContent | undefined {
  if (authentication.tag.length !== cipher.tagBytes) return undefined;
  const decipher = createDecipheriv(cipher.name as CipherGCMTypes, createSecretKey(key), cipher.iv, {
    authTagLength: cipher.tagBytes,
  });
  decipher.setAuthTag(authentication.tag);
  decipher.setAAD(authentication.additionalData);
  const bytes = updateAll((chunk) => decipher.update(chunk), content);
  try {
    decipher.final();
    return { bytes, isIntact: true };
  } catch {
    return { bytes, isIntact: false };
  }
}

/** Runs the pieces through a cipher whose output is as long as its input. */
function updateAll(
  update: (bytes: Uint8Array) => Buffer,
  { pieces, isDisposable }: EncryptedContent,
): Buffer {
  const target = chooseTarget(pieces, isDisposable);
  let written = 0;
  gather(pieces, (chunk) => {
    const output = update(chunk);
    target.set(output, written);
    written += output.length;
    releaseMemory(output);
  });
  return target.subarray(0, written);
}

/**
 * All pieces are in one structure in ascending order, so that the write position never passes the read
 * position.
 */
function chooseTarget(pieces: Pieces, isDisposable: boolean): Buffer {
  const [first] = pieces;
  const sizeBytes = lengthOf(pieces);
  if (!isDisposable || first === undefined) return Buffer.allocUnsafe(sizeBytes);
  return Buffer.from(first.buffer, first.byteOffset, sizeBytes);
}

/** Bytes per cipher call: large enough that the calls cost little, small enough for the processor's cache. */
const chunkBytes = 64 * 1024;

/**
 * Passes on the same bytes in chunks of a good size; small pieces are joined in one that is valid only during
 * the call.
 */
function gather(pieces: Pieces, use: (chunk: Uint8Array) => void): void {
  const joined = pieces.length > 1 ? Buffer.allocUnsafe(chunkBytes) : Buffer.alloc(0);
  let filled = 0;
  for (const piece of pieces) {
    let at = 0;
    while (at < piece.length) {
      const isWhole = filled === 0 && piece.length - at >= joined.length;
      const part = piece.subarray(at, at + chunkBytes - filled);
      at += part.length;
      if (isWhole) {
        use(part);
        continue;
      }
      joined.set(part, filled);
      filled += part.length;
      if (filled === chunkBytes) {
        use(joined);
        filled = 0;
      }
    }
  }
  if (filled > 0) use(joined.subarray(0, filled));
}
