import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { readCertificate, type Certificate } from '../../lib/pki/index.ts';
import { applyChange, type TrustStore } from './change.ts';
import { countByDomain } from './count-by-domain.ts';
import { TrustError } from './errors.ts';
import { requireHostedIn } from './limit-addresses.ts';
import type { AnchorDirection, TrustTables } from './tables.ts';

export interface AnchorEntry {
  readonly id: string;
  readonly domain: string;
  readonly direction: AnchorDirection;
  readonly certificate: Certificate;
  /** The bundle that brought it, or empty if the operator added it by hand. */
  readonly bundleId: string;
  readonly createdAt: Date;
}

/** The certificates that our domains accept as the end of a path. Nothing is built in (TRUST-02). */
export interface Anchors {
  /** Adds an anchor for one domain (TRUST-03); the same certificate and direction again changes nothing. */
  addAnchor(domain: string, certificate: Uint8Array, direction?: AnchorDirection): Promise<string>;
  removeAnchor(id: string): Promise<void>;
  listAnchors(domain: string): Promise<readonly AnchorEntry[]>;
  /** The number of anchors by domain; domains without any are absent. */
  countAnchors(): Promise<ReadonlyMap<string, number>>;
  /**
   * The anchors that decide about a domain's mail in one direction. May be empty: then nothing is trusted.
   */
  findAnchors(domain: string, direction: 'incoming' | 'outgoing'): Promise<readonly Certificate[]>;
}

export function createAnchors(store: TrustStore): Anchors {
  const { guards } = store;
  const db = store.storage.tables<TrustTables>();
  const parsed = new Map<string, Certificate>();

  function parse(row: { fingerprint: string; certificate: Uint8Array }): Certificate {
    const known = parsed.get(row.fingerprint);
    if (known !== undefined) return known;
    const certificate = readCertificate(new Uint8Array(row.certificate));
    parsed.set(row.fingerprint, certificate);
    return certificate;
  }

  return {
    async addAnchor(domain, certificate, direction = 'both') {
      const anchor = readAnchor(certificate);
      const objects = { domain: domain.toLowerCase(), direction, fingerprint: anchor.fingerprint };
      const [id] = await applyChange(store, { action: 'anchor.add', objects }, async (tx) => {
        await requireHostedIn(tx, store, [objects.domain]);
        return insertAnchors(tx, store, { domain, direction, bundleId: '' }, [anchor]);
      });
      return id ?? '';
    },
    async removeAnchor(id) {
      const unknown = (): TrustError => new TrustError('TRUST_ANCHOR_UNKNOWN', `Unknown anchor: ${id}.`);
      const row = await db
        .selectFrom('trust_anchor')
        .select(['domain', 'direction', 'fingerprint'])
        .where('id', '=', id)
        .executeTakeFirst();
      if (row === undefined) throw unknown();
      // The row is gone afterwards: nothing else would say what was trusted.
      await applyChange(store, { action: 'anchor.remove', objects: { anchor: id, ...row } }, async (tx) => {
        const result = await tx.deleteFrom('trust_anchor').where('id', '=', id).executeTakeFirst();
        if (result.numDeletedRows === 0n) throw unknown();
      });
    },
    async listAnchors(domain) {
      const rows = await db
        .selectFrom('trust_anchor')
        .selectAll()
        .where('domain', '=', domain.toLowerCase())
        .orderBy('created_at')
        .execute();
      return rows.map((row) => ({
        id: row.id,
        domain: row.domain,
        direction: row.direction,
        certificate: readCertificate(new Uint8Array(row.certificate)),
        bundleId: row.bundle_id,
        createdAt: new Date(row.created_at),
      }));
    },
    countAnchors: () => countByDomain(db, 'trust_anchor'),
    findAnchors(domain, direction) {
      const name = domain.toLowerCase();
      return store.lookups.find(`anchors ${direction} ${name}`, async () => {
        const rows = await db
          .selectFrom('trust_anchor')
          .selectAll()
          .where('domain', '=', name)
          .where('direction', 'in', [direction, 'both'])
          .execute();
        await guards.anchors.checkAll(rows);
        return [...new Map(rows.map((row) => [row.fingerprint, parse(row)])).values()];
      });
    },
  };
}

function readAnchor(bytes: Uint8Array): Certificate {
  try {
    return readCertificate(bytes);
  } catch (cause) {
    throw new TrustError('TRUST_ANCHOR_INVALID', 'The file is not one X.509 certificate in DER or PEM.', {
      cause,
    });
  }
}

/** Writes anchors inside the caller's transaction or connection; those that are there already are skipped. */
export async function insertAnchors(
  db: Kysely<TrustTables>,
  { clock, guards }: Pick<TrustStore, 'clock' | 'guards'>,
  place: { readonly domain: string; readonly direction: AnchorDirection; readonly bundleId: string },
  certificates: readonly Certificate[],
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const certificate of certificates) {
    // The update changes nothing: it makes the statement return the id of an anchor that is there already.
    const { id } = await db
      .insertInto('trust_anchor')
      .values(
        guards.anchors.withMac({
          id: randomUUID(),
          domain: place.domain.toLowerCase(),
          direction: place.direction,
          certificate: certificate.der,
          fingerprint: certificate.fingerprint,
          bundle_id: place.bundleId,
          created_at: clock.now().getTime(),
        }),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['domain', 'direction', 'bundle_id', 'fingerprint'])
          .doUpdateSet(({ ref }) => ({ fingerprint: ref('excluded.fingerprint') })),
      )
      .returning('id')
      .executeTakeFirstOrThrow();
    ids.push(id);
  }
  return ids;
}
