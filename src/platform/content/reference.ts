/** The place of a content that is too large for its owner's row. */
export interface ContentReference {
  /** A UUID. */
  readonly id: string;
  readonly sizeBytes: number;
}

/** First byte of a reference; an encrypted value begins with 1 (vault.ts). */
const formatVersion = 2;
const idBytes = 16;
const sizeAt = 1 + idBytes;
/** The first bytes of a stored value, as many as `releaseIn` needs. */
export const referenceBytes = sizeAt + 6;

/**
 * `version (1) | id (16) | size (6, big-endian)`. Nothing in it is secret; a changed reference fails
 * decryption.
 */
export function formatReference({ id, sizeBytes }: ContentReference): Uint8Array {
  const bytes = Buffer.alloc(referenceBytes);
  bytes[0] = formatVersion;
  bytes.write(id.replaceAll('-', ''), 1, 'hex');
  bytes.writeUIntBE(sizeBytes, sizeAt, 6);
  return bytes;
}

/** Undefined if this is an encrypted value itself. */
export function readReference(stored: Uint8Array): ContentReference | undefined {
  if (stored[0] !== formatVersion || stored.length !== referenceBytes) return undefined;
  const bytes = Buffer.from(stored);
  const hex = bytes.toString('hex', 1, sizeAt);
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { id, sizeBytes: bytes.readUIntBE(sizeAt, 6) };
}

/**
 * The size of a content by the first {@link referenceBytes} and the length of its stored value; in the row
 * itself it is some bytes longer.
 */
export function storedSize(start: Uint8Array, storedBytes: number): number {
  return readReference(start)?.sizeBytes ?? storedBytes;
}

/**
 * Binds a chunk to its content, its position and the owner. The size fixes the number of chunks, so that
 * none can be omitted at the end.
 */
export function chunkContext(
  { id, sizeBytes }: ContentReference,
  position: number,
  ownerContext: string,
): string {
  return `part ${position} of ${sizeBytes} bytes ${id} of ${ownerContext}`;
}
