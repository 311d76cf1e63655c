import { createHash, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { concatBytes, errorText, readTexts, type Log } from '../../core/index.ts';
import type { FetchResponse, GuardedFetch } from '../../lib/fetch/index.ts';
import { readCertificate, readTrustBundle, type Certificate, type TrustBundle } from '../../lib/pki/index.ts';
import { verifyCms } from '../../lib/smime/index.ts';
import { isLoopback } from '../../platform/index.ts';
import { applyChange, type TrustStore } from './change.ts';
import { insertAnchors } from './anchors.ts';
import { healthOfBundle, type Health } from './health.ts';
import { TrustError } from './errors.ts';
import { requireHostedIn } from './limit-addresses.ts';
import type { AnchorDirection, TrustTables } from './tables.ts';

export interface BundleRequest {
  readonly domain: string;
  readonly url: string;
  readonly direction?: AnchorDirection;
  /**
   * The certificate that must have signed the bundle (BUNDLE-03). Without it the bundle is unsigned, and its
   * URL https. DER or PEM.
   */
  readonly signer?: Uint8Array;
  readonly refreshSeconds?: number;
}

export interface BundleStatus {
  readonly id: string;
  readonly domain: string;
  readonly direction: AnchorDirection;
  readonly url: string;
  readonly anchorCount: number;
  readonly createdAt: Date;
  readonly refreshedAt: Date | undefined;
  readonly nextRefreshAt: Date;
  readonly refreshSeconds: number;
  readonly checksum: string;
  /** Empty after a good refresh. */
  readonly lastError: string;
  readonly health: Health;
}

/** Changes of a refresh: the subjects of added and removed anchors. */
export interface BundleChange {
  readonly at: Date;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Published sets of anchors that are fetched again and again (BUNDLE-05, BUNDLE-07). */
export interface Bundles {
  addBundle(request: BundleRequest): Promise<string>;
  removeBundle(id: string): Promise<void>;
  listBundles(): Promise<readonly BundleStatus[]>;
  /**
   * Changes made by the last refreshes of a domain's bundles, by bundle, newest first; at most 20 of each.
   */
  listBundleChanges(domain: string): Promise<ReadonlyMap<string, readonly BundleChange[]>>;
  /**
   * Fetches every bundle that is due (or the one named) and swaps its anchors in one transaction. After a
   * failure the last good set stays. Returns the changes, by bundle.
   */
  refreshBundles(
    fetch: GuardedFetch,
    log: Log,
    onlyId?: string,
  ): Promise<readonly { id: string; outcome: 'changed' | 'unchanged' | 'failed' }[]>;
}

type BundleRow = TrustTables['trust_bundle'];

const dayMs = 86_400_000;
/** Kept of each bundle. */
const keptChanges = 20;
// After a failure a bundle is asked for again sooner than its usual interval.
const retryAfterFailureMs = 15 * 60_000;

export function createBundles(store: TrustStore): Bundles {
  const { clock, guards } = store;
  const db = store.storage.tables<TrustTables>();

  async function refreshOne(
    row: BundleRow,
    fetch: GuardedFetch,
    log: Log,
  ): Promise<'changed' | 'unchanged' | 'failed'> {
    try {
      await guards.bundles.check(row);
      checkUrl(row.url, row.signer !== null);
      const response = await fetch(row.url, {
        headers: row.etag === '' ? {} : { 'if-none-match': row.etag },
      });
      const checksum = checksumOf(response);
      // Without the tag of a former answer, 304 is no answer: nothing has been fetched yet.
      const isSame =
        response.status === 304 ? row.etag !== '' : response.status === 200 && checksum === row.checksum;
      if (isSame) {
        await noteRefresh(row, {});
        return 'unchanged';
      }
      const bundle = readBundle(row, response);
      await swap(row, bundle, checksum, response.headers['etag'] ?? '');
      if (bundle.unreadableCount > 0)
        log.warn(
          { bundle: row.id, domain: row.domain, certificates: bundle.unreadableCount },
          'some certificates of a trust bundle cannot be read; they are not trusted',
        );
      return 'changed';
    } catch (error) {
      log.error(
        { bundle: row.id, domain: row.domain, problem: errorText(error) },
        'a trust bundle could not be refreshed; the last good set stays',
      );
      await db
        .updateTable('trust_bundle')
        .set({ last_error: errorText(error), next_refresh_at: clock.now().getTime() + retryAfterFailureMs })
        .where('id', '=', row.id)
        .execute();
      return 'failed';
    }
  }

  async function noteRefresh(row: BundleRow, changes: Partial<BundleRow>, on = db): Promise<void> {
    const now = clock.now().getTime();
    await on
      .updateTable('trust_bundle')
      .set({
        refreshed_at: now,
        next_refresh_at: now + row.refresh_seconds * 1000,
        last_error: '',
        ...changes,
      })
      .where('id', '=', row.id)
      .execute();
  }

  /** Anchors that left the bundle stop being trusted in the same transaction in which new ones start. */
  async function swap(row: BundleRow, bundle: TrustBundle, checksum: string, etag: string): Promise<void> {
    const objects = { bundle: row.id, domain: row.domain, checksum };
    await applyChange(store, { action: 'bundle.swap', actor: 'system', objects }, async (tx) => {
      // Removed while it was fetched, its anchors must not come back; swapped by another node, that one comes
      // first.
      const known = await store.storage
        .forUpdate(tx.selectFrom('trust_bundle').select('id').where('id', '=', row.id))
        .executeTakeFirst();
      if (known === undefined)
        throw new TrustError('TRUST_BUNDLE_UNKNOWN', `Unknown trust bundle: ${row.id}.`);
      const before = await tx
        .selectFrom('trust_anchor')
        .select(['fingerprint', 'certificate'])
        .where('bundle_id', '=', row.id)
        .execute();
      refuseLoss(before, bundle.anchors);
      await noteChange(tx, row.id, clock.now(), before, bundle.anchors);
      await tx
        .deleteFrom('trust_anchor')
        .where('bundle_id', '=', row.id)
        .where(
          'fingerprint',
          'not in',
          bundle.anchors.map((anchor) => anchor.fingerprint),
        )
        .execute();
      await insertAnchors(
        tx,
        store,
        { domain: row.domain, direction: row.direction, bundleId: row.id },
        bundle.anchors,
      );
      await noteRefresh(row, { checksum, etag }, tx);
    });
  }

  return {
    async addBundle(request) {
      const domain = request.domain.toLowerCase();
      checkUrl(request.url, request.signer !== undefined);
      const id = randomUUID();
      const now = clock.now().getTime();
      await applyChange(store, { action: 'bundle.add', objects: { bundle: id, domain } }, async (tx) => {
        await requireHostedIn(tx, store, [domain]);
        await tx
          .insertInto('trust_bundle')
          .values(
            guards.bundles.withMac({
              id,
              domain,
              direction: request.direction ?? 'both',
              url: request.url,
              signer: request.signer === undefined ? null : readCertificate(request.signer).der,
              refresh_seconds: request.refreshSeconds ?? dayMs / 1000,
              next_refresh_at: now,
              refreshed_at: null,
              checksum: '',
              etag: '',
              last_error: '',
              created_at: now,
            }),
          )
          .execute();
      });
      return id;
    },
    async removeBundle(id) {
      await applyChange(store, { action: 'bundle.remove', objects: { bundle: id } }, async (tx) => {
        // The bundle first: a refresh that holds it stores its anchors before they are deleted.
        const result = await tx.deleteFrom('trust_bundle').where('id', '=', id).executeTakeFirst();
        if (result.numDeletedRows === 0n)
          throw new TrustError('TRUST_BUNDLE_UNKNOWN', `Unknown trust bundle: ${id}.`);
        await tx.deleteFrom('trust_anchor').where('bundle_id', '=', id).execute();
        await tx.deleteFrom('trust_bundle_change').where('bundle_id', '=', id).execute();
      });
    },
    async listBundles() {
      const rows = await db
        .selectFrom('trust_bundle')
        .leftJoin('trust_anchor', 'trust_anchor.bundle_id', 'trust_bundle.id')
        .select((select) => [
          'trust_bundle.id',
          'trust_bundle.domain',
          'trust_bundle.direction',
          'trust_bundle.url',
          'trust_bundle.created_at',
          'trust_bundle.refresh_seconds',
          'trust_bundle.refreshed_at',
          'trust_bundle.next_refresh_at',
          'trust_bundle.checksum',
          'trust_bundle.last_error',
          select.fn.count<number>('trust_anchor.id').as('anchor_count'),
        ])
        .groupBy('trust_bundle.id')
        .orderBy('trust_bundle.created_at')
        .execute();
      const now = clock.now();
      return rows.map((row) => {
        const times = {
          createdAt: new Date(row.created_at),
          refreshedAt: row.refreshed_at === null ? undefined : new Date(row.refreshed_at),
          refreshSeconds: row.refresh_seconds,
          lastError: row.last_error,
        };
        return {
          ...times,
          id: row.id,
          domain: row.domain,
          direction: row.direction,
          url: row.url,
          anchorCount: Number(row.anchor_count),
          nextRefreshAt: new Date(row.next_refresh_at),
          checksum: row.checksum,
          health: healthOfBundle(times, now),
        };
      });
    },
    async listBundleChanges(domain) {
      const rows = await db
        .selectFrom('trust_bundle_change')
        .innerJoin('trust_bundle', 'trust_bundle.id', 'trust_bundle_change.bundle_id')
        .select(['bundle_id', 'at', 'added', 'removed'])
        .where('trust_bundle.domain', '=', domain.toLowerCase())
        .orderBy('at', 'desc')
        .execute();
      const changes = Map.groupBy(rows, ({ bundle_id }) => bundle_id);
      return new Map(
        [...changes].map(([id, own]) => [
          id,
          own.map(({ at, added, removed }) => ({
            at: new Date(at),
            added: readTexts(added),
            removed: readTexts(removed),
          })),
        ]),
      );
    },
    async refreshBundles(fetch, log, onlyId) {
      let query = db.selectFrom('trust_bundle').selectAll();
      query =
        onlyId === undefined
          ? query.where('next_refresh_at', '<=', clock.now().getTime())
          : query.where('id', '=', onlyId);
      const results: { id: string; outcome: 'changed' | 'unchanged' | 'failed' }[] = [];
      for (const row of await query.execute())
        results.push({ id: row.id, outcome: await refreshOne(row, fetch, log) });
      return results;
    },
  };
}

/**
 * Also before each fetch, for a bundle that was added when any URL was taken. Throws TRUST_BUNDLE_INVALID.
 */
function checkUrl(url: string, isSigned: boolean): void {
  const { protocol = '', hostname = '' } = URL.parse(url) ?? {};
  if (!/^https?:$/.test(protocol))
    throw new TrustError(
      'TRUST_BUNDLE_INVALID',
      `${url} is not a URL such as https://bundles.example.org/anchors.p7b.`,
    );
  if (protocol === 'http:' && !isSigned && !isLoopback(hostname))
    throw new TrustError(
      'TRUST_BUNDLE_INVALID',
      `${url}: an unsigned bundle is fetched by https only, or anyone on the way could add an anchor. Use https, or name its signer.`,
    );
}

type KnownAnchor = Pick<TrustTables['trust_anchor'], 'fingerprint' | 'certificate'>;

/** A smaller bundle may change completely, as when its only CA has a new key. */
const fewestAnchors = 4;

/**
 * Most anchors that go at once are the publisher's mistake rather than its intention. Throws
 * TRUST_BUNDLE_REFUSED if fewer than half of the known anchors would stay.
 */
function refuseLoss(before: readonly KnownAnchor[], after: readonly Certificate[]): void {
  const current = new Set(after.map(({ fingerprint }) => fingerprint));
  const kept = before.filter(({ fingerprint }) => current.has(fingerprint)).length;
  if (before.length < fewestAnchors || kept * 2 >= before.length) return;
  throw new TrustError(
    'TRUST_BUNDLE_REFUSED',
    `${before.length - kept} of its ${before.length} anchors would go. If that is right, add the bundle again (openhisp bundle add), ` +
      'then remove this one (openhisp bundle remove)',
  );
}

/** A refresh that leaves the anchors as they were is no change. */
async function noteChange(
  tx: Kysely<TrustTables>,
  bundleId: string,
  at: Date,
  before: readonly KnownAnchor[],
  after: readonly Certificate[],
): Promise<void> {
  const old = new Set(before.map(({ fingerprint }) => fingerprint));
  const current = new Set(after.map(({ fingerprint }) => fingerprint));
  const added = after.filter(({ fingerprint }) => !old.has(fingerprint)).map(({ subject }) => subject);
  const removed = before
    .filter(({ fingerprint }) => !current.has(fingerprint))
    .map(({ certificate }) => readCertificate(new Uint8Array(certificate)).subject);
  if (added.length + removed.length === 0) return;
  await tx
    .insertInto('trust_bundle_change')
    .values({
      id: randomUUID(),
      bundle_id: bundleId,
      at: at.getTime(),
      added: JSON.stringify(added),
      removed: JSON.stringify(removed),
    })
    .execute();
  const kept = await tx
    .selectFrom('trust_bundle_change')
    .select('id')
    .where('bundle_id', '=', bundleId)
    .orderBy('at', 'desc')
    .limit(keptChanges)
    .execute();
  await tx
    .deleteFrom('trust_bundle_change')
    .where('bundle_id', '=', bundleId)
    .where(
      'id',
      'not in',
      kept.map(({ id }) => id),
    )
    .execute();
}

function checksumOf(response: FetchResponse): string {
  return createHash('sha256').update(response.body).digest('hex');
}

function readBundle(row: BundleRow, response: FetchResponse): TrustBundle {
  if (response.status !== 200)
    throw new TrustError('TRUST_BUNDLE_REFUSED', `${row.url} answered ${response.status}`);
  const bundle = readTrustBundle(response.body, {
    ...(row.signer === null ? {} : { signer: readCertificate(row.signer) }),
    verifySignature: verifyBundleSignature,
  });
  // A bundle without an anchor would remove all trust because of the publisher's mistake.
  if (bundle.anchors.length === 0)
    throw new TrustError('TRUST_BUNDLE_REFUSED', `${row.url} holds no certificate`);
  return bundle;
}

/** id-data, and id-signedData: some signers name the type of what is inside (RFC 5652 §4, §5). */
const bundleContentTypes = ['1.2.840.113549.1.7.1', '1.2.840.113549.1.7.2'];

function verifyBundleSignature(signedData: Uint8Array, signer: Certificate): Uint8Array {
  const verified = verifyCms(signedData, {
    knownCertificates: [signer],
    contentTypes: bundleContentTypes,
  });
  const isBySigner = verified.signers.some(
    (result) => result.outcome === 'valid' && result.certificate.fingerprint === signer.fingerprint,
  );
  if (!isBySigner)
    throw new TrustError('TRUST_BUNDLE_REFUSED', 'the bundle is not signed by the configured certificate');
  return concatBytes(verified.content);
}
