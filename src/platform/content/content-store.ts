/**
 * Encrypted contents that are too large for the row of their owner, in chunks.
 * Used by `platform`; others by its `index.ts`.
 * Begin with the store here.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { sliceBytes, slicesOf, viewAsBuffer, type Clock } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import { tablesOf, type AnyTransaction, type Storage } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import { formatReference, chunkContext, readReference, type ContentReference } from './reference.ts';

/** Bytes per chunk; a content of up to this size stays in its owner's row. */
const chunkBytes = sliceBytes;
/** Chunks whose owner is not stored within this time are orphans: the process died in between. */
const ownerWithinMs = 3_600_000;

/**
 * Encrypted contents of any size next to the row that they belong to (Decision 0018: Large contents). A
 * content that fits into one chunk is encrypted into the owner's row; a larger content is stored in chunks,
 * so that neither writing nor reading it holds up the event loop, and the row holds a reference. The owner
 * keeps either in a `bytea` column and passes it to these methods.
 *
 * A content is written before the transaction that stores its owner, and is durable when `write` is
 * fulfilled.
 */
export interface ContentStore {
  /**
   * Returns the value for the owner's row. `context` names the place, for example `delivery:<id>`; it can be
   * decrypted only there.
   */
  write(plain: Uint8Array, context: string): Promise<Uint8Array>;
  /** In the transaction that stores the owner. Throws PLATFORM_CONTENT_MISSING if it took too long. */
  keepIn(tx: AnyTransaction, stored: Uint8Array): Promise<void>;
  /**
   * In separate memory. Throws PLATFORM_CONTENT_MISSING, or an error of `Vault.decrypt` for a content that
   * was changed, truncated or copied from another place.
   */
  open(stored: Uint8Array, context: string): Promise<Buffer>;
  /** In the transaction that removes the owner or its content; the next `sweep` deletes the chunks. */
  releaseIn(tx: AnyTransaction, stored: Uint8Array): Promise<void>;
  /** Deletes the chunks of contents that have no owner. Returns the number of contents. */
  sweep(): Promise<number>;
}

export interface ContentStoreDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
}

export function createContentStore({ storage, vault, clock }: ContentStoreDependencies): ContentStore {
  const db = storage.tables<ContentTables>();

  async function writeChunks(plain: Uint8Array, context: string): Promise<Uint8Array> {
    const reference: ContentReference = { id: randomUUID(), sizeBytes: plain.length };
    const sweepAt = clock.now().getTime() + ownerWithinMs;
    await db.insertInto('content').values({ id: reference.id, sweep_at: sweepAt }).execute();
    for (const [position, slice] of [...slicesOf(plain, chunkBytes)].entries()) {
      const encrypted = vault.encrypt(slice, chunkContext(reference, position, context));
      await db
        .insertInto('content_part')
        .values({ content_id: reference.id, position, sealed: encrypted })
        .execute();
      await nextTurn();
    }
    return formatReference(reference);
  }

  async function decryptChunks(reference: ContentReference, context: string): Promise<Buffer> {
    const plain = Buffer.allocUnsafeSlow(reference.sizeBytes);
    for (let position = 0; position * chunkBytes < plain.length; position++) {
      const encrypted = await readChunk(db, reference.id, position);
      const chunk = vault.decrypt(encrypted, chunkContext(reference, position, context));
      plain.set(chunk, position * chunkBytes);
      await nextTurn();
    }
    return plain;
  }

  return {
    async write(plain, context) {
      return plain.length <= chunkBytes ? vault.encrypt(plain, context) : writeChunks(plain, context);
    },
    async keepIn(tx, stored) {
      const reference = readReference(stored);
      if (reference === undefined) return;
      if (!(await setSweep(tx, reference, null))) throw missing(reference.id);
    },
    async open(stored, context) {
      const reference = readReference(stored);
      return reference === undefined
        ? viewAsBuffer(vault.decrypt(stored, context))
        : decryptChunks(reference, context);
    },
    async releaseIn(tx, stored) {
      const reference = readReference(stored);
      if (reference !== undefined) await setSweep(tx, reference, clock.now().getTime());
    },
    async sweep() {
      const due = await db
        .selectFrom('content')
        .select('id')
        .where('sweep_at', '<=', clock.now().getTime())
        .execute();
      for (const { id } of due)
        if (await beginDeleting(db, id, clock.now().getTime())) await deleteContent(db, id);
      return due.length;
    },
  };
}

/** `sweep_at` of a content whose chunks are being deleted: it cannot be kept any more. */
const deleting = 0;

/** False if it was kept since it was found. */
async function beginDeleting(db: Kysely<ContentTables>, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('content')
    .set({ sweep_at: deleting })
    .where('id', '=', id)
    .where('sweep_at', '<=', now)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

async function setSweep(
  tx: AnyTransaction,
  { id }: ContentReference,
  sweepAt: number | null,
): Promise<boolean> {
  const result = await tablesOf<ContentTables>(tx)
    .updateTable('content')
    .set({ sweep_at: sweepAt })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('sweep_at', 'is', null), eb('sweep_at', '>', deleting)]))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

async function readChunk(db: Kysely<ContentTables>, id: string, position: number): Promise<Uint8Array> {
  const row = await db
    .selectFrom('content_part')
    .select('sealed')
    .where('content_id', '=', id)
    .where('position', '=', position)
    .executeTakeFirst();
  if (row === undefined) throw missing(id);
  return row.sealed;
}

// Deletes chunk by chunk; the content's row goes last, so that the next sweep resumes one that was aborted.
async function deleteContent(db: Kysely<ContentTables>, id: string): Promise<void> {
  const chunks = db.selectFrom('content_part').select('position').where('content_id', '=', id).limit(1);
  for (
    let chunk = await chunks.executeTakeFirst();
    chunk !== undefined;
    chunk = await chunks.executeTakeFirst()
  ) {
    await db
      .deleteFrom('content_part')
      .where('content_id', '=', id)
      .where('position', '=', chunk.position)
      .execute();
    await nextTurn();
  }
  await db.deleteFrom('content').where('id', '=', id).execute();
}

function missing(id: string): PlatformError {
  return new PlatformError('PLATFORM_CONTENT_MISSING', `the chunks of content ${id} are missing`);
}

export interface ContentTables {
  /** A content that is stored in chunks. */
  content: {
    id: string;
    /** Time from which its chunks may be deleted; null while it has an owner. */
    sweep_at: number | null;
  };
  content_part: {
    content_id: string;
    /** From 0. */
    position: number;
    sealed: Uint8Array;
  };
}
