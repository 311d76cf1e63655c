import { LRUCache } from 'lru-cache';
import { createTimedUuid } from '../../../core/index.ts';
import type { AnyTransaction } from '../../../platform/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies, OpenedMail } from '../ports.ts';
import type { FoundRecipient } from '../status/find-recipient.ts';
import type { MdnEvidenceRow, MessagingTables, PathCertificateRow } from '../tables.ts';

/** A peer that repeats its MDNs endlessly must not fill the database; a delivery takes three at most. */
const maxMdns = 10;

/** The context of an encrypted MDN. */
export const evidenceContext = (id: string): string => `evidence:${id}`;

/** `used_at` of a certificate in use is written again after this long. */
export const certificateUseMs = 86_400_000;
const maxKnownCertificates = 10_000;

const insertOf = perStorage((storage) =>
  storage.prepare<MessagingTables, MdnEvidenceRow>((db, row) =>
    db.insertInto('mdn_evidence').values({
      id: row.id,
      recipient_id: row.recipient_id,
      sealed_mdn: row.sealed_mdn,
      signer_path: row.signer_path,
      received_at: row.received_at,
    }),
  ),
);

const upsertCertificateOf = perStorage((storage) =>
  storage.prepare<MessagingTables, PathCertificateRow>((db, row) =>
    db
      .insertInto('path_certificate')
      .values({ fingerprint: row.fingerprint, der: row.der, used_at: row.used_at })
      .onConflict((conflict) => conflict.column('fingerprint').doUpdateSet({ used_at: row.used_at })),
  ),
);

/** Times at which recently used certificates were last written, by fingerprint. */
const writtenOf = perStorage(() => new LRUCache<string, number>({ max: maxKnownCertificates }));

/** A verified MDN that entered the history of a recipient. */
export interface KeptMdn {
  readonly recipient: FoundRecipient;
  readonly opened: OpenedMail;
  readonly at: Date;
}

/**
 * Keeps an MDN as it was received, and the certificates of its signer's path, as evidence for a later proof of delivery,
 * in the transaction that applies it.
 */
export async function keepMdn(
  tx: AnyTransaction,
  { storage, vault }: Pick<MessagingDependencies, 'storage' | 'vault'>,
  { recipient, opened: { signed, signerPath = [] }, at }: KeptMdn,
): Promise<void> {
  if (signed === undefined || recipient.event_count >= maxMdns) return;
  const id = createTimedUuid(at);
  const nowMs = at.getTime();
  await insertOf(storage).run(tx, {
    id,
    recipient_id: recipient.id,
    sealed_mdn: vault.encrypt(signed, evidenceContext(id)),
    signer_path: JSON.stringify(signerPath.map(({ fingerprint }) => fingerprint)),
    received_at: nowMs,
  });
  const written = writtenOf(storage);
  const due = signerPath.filter(({ fingerprint }) => {
    const writtenMs = written.get(fingerprint);
    return writtenMs === undefined || Math.abs(nowMs - writtenMs) >= certificateUseMs;
  });
  if (due.length === 0) return;
  // In one order, so that two nodes that write the same certificates do not wait for each other.
  for (const { fingerprint, der } of due.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1)))
    await upsertCertificateOf(storage).run(tx, { fingerprint, der, used_at: nowMs });
  storage.afterCommit(tx, () => {
    for (const { fingerprint } of due) written.set(fingerprint, nowMs);
  });
}
