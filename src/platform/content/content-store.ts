import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { sliceBytes, slicesOf, viewAsBuffer, type Clock } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import { tablesOf, type AnyTransaction, type Storage } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import { formatReference, partContext, readReference, type ContentReference } from './reference.ts';
import type { ContentTables } from './tables.ts';

/** Bytes of one part, and the most that is kept in the owner's row. */
const partBytes = sliceBytes;
/** Parts whose owner was not stored within this time belong to nobody: the process died in between. */
const ownerWithinMs = 3_600_000;

/**
 * Sealed contents of any size next to the row that they belong to (Decision 0018: Large contents). What fits into one
 * part is sealed into the owner's row; a larger content lies in parts, so that neither writing nor reading it holds up
 * the event loop, and the row holds a reference. Owners keep the one or the other in a `bytea` column and hand it in here.
 *
 * A content is written before the transaction that stores its owner, and is durable when `write` is fulfilled.
 */
export interface ContentStore {
  /** What the owner's row is to hold. `context` names the place, for example `delivery:<id>`; it opens only there. */
  write(plain: Uint8Array, context: string): Promise<Uint8Array>;
  /** In the transaction that stores the owner. Throws PLATFORM_CONTENT_MISSING if it took too long. */
  keepIn(tx: AnyTransaction, stored: Uint8Array): Promise<void>;
  /**
   * In memory of its own. Throws PLATFORM_CONTENT_MISSING, or what `Vault.open` throws for anything that was changed,
   * cut or taken from another place.
   */
  open(stored: Uint8Array, context: string): Promise<Buffer>;
  /** In the transaction that removes the owner or its content; the parts are deleted by the next `sweep`. */
  releaseIn(tx: AnyTransaction, stored: Uint8Array): Promise<void>;
  /** Deletes the parts of contents that have no owner. Returns how many contents. */
  sweep(): Promise<number>;
}

export interface ContentStoreDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
}

export function createContentStore({ storage, vault, clock }: ContentStoreDependencies): ContentStore {
  const db = storage.tables<ContentTables>();

  async function writeParts(plain: Uint8Array, context: string): Promise<Uint8Array> {
    const reference: ContentReference = { id: randomUUID(), sizeBytes: plain.length };
    const sweepAt = clock.now().getTime() + ownerWithinMs;
    await db.insertInto('content').values({ id: reference.id, sweep_at: sweepAt }).execute();
    for (const [position, slice] of [...slicesOf(plain, partBytes)].entries()) {
      const sealed = vault.seal(slice, partContext(reference, position, context));
      await db.insertInto('content_part').values({ content_id: reference.id, position, sealed }).execute();
      await nextTurn();
    }
    return formatReference(reference);
  }

  async function openParts(reference: ContentReference, context: string): Promise<Buffer> {
    const plain = Buffer.allocUnsafeSlow(reference.sizeBytes);
    for (let position = 0; position * partBytes < plain.length; position++) {
      const sealed = await readPart(db, reference.id, position);
      const part = vault.open(sealed, partContext(reference, position, context));
      plain.set(part, position * partBytes);
      await nextTurn();
    }
    return plain;
  }

  return {
    async write(plain, context) {
      return plain.length <= partBytes ? vault.seal(plain, context) : writeParts(plain, context);
    },
    async keepIn(tx, stored) {
      const reference = readReference(stored);
      if (reference === undefined) return;
      if (!(await setSweep(tx, reference, null))) throw missing(reference.id);
    },
    async open(stored, context) {
      const reference = readReference(stored);
      return reference === undefined
        ? viewAsBuffer(vault.open(stored, context))
        : openParts(reference, context);
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
      for (const { id } of due) await deleteContent(db, id);
      return due.length;
    },
  };
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
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

async function readPart(db: Kysely<ContentTables>, id: string, position: number): Promise<Uint8Array> {
  const row = await db
    .selectFrom('content_part')
    .select('sealed')
    .where('content_id', '=', id)
    .where('position', '=', position)
    .executeTakeFirst();
  if (row === undefined) throw missing(id);
  return row.sealed;
}

// Part by part, as it was written. The content's own row goes last, so that a sweep that was cut off is taken up again.
async function deleteContent(db: Kysely<ContentTables>, id: string): Promise<void> {
  const parts = db.selectFrom('content_part').select('position').where('content_id', '=', id).limit(1);
  for (let part = await parts.executeTakeFirst(); part !== undefined; part = await parts.executeTakeFirst()) {
    await db
      .deleteFrom('content_part')
      .where('content_id', '=', id)
      .where('position', '=', part.position)
      .execute();
    await nextTurn();
  }
  await db.deleteFrom('content').where('id', '=', id).execute();
}

function missing(id: string): PlatformError {
  return new PlatformError('PLATFORM_CONTENT_MISSING', `the parts of content ${id} are not there`);
}
