import { randomUUID } from 'node:crypto';
import type { AnyTransaction } from '../../../platform/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingParts, OpenedMail } from '../ports.ts';
import type { FoundRecipient } from '../status/find-recipient.ts';
import type { MdnEvidenceRow, MessagingTables } from '../tables.ts';

/** A peer that repeats its notices endlessly must not fill the database; a delivery takes three at most. */
const maxNotices = 10;

/** Where a notice is sealed. */
export const evidenceContext = (id: string): string => `evidence:${id}`;

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

/** A verified notice that entered the history of a recipient. */
export interface KeptNotice {
  readonly recipient: FoundRecipient;
  readonly opened: OpenedMail;
  readonly at: Date;
}

/** Keeps a notice as it was received, as evidence for whoever must prove delivery, in the transaction that applies it. */
export async function keepNotice(
  tx: AnyTransaction,
  { storage, vault }: Pick<MessagingParts, 'storage' | 'vault'>,
  { recipient, opened: { signed, signerPath = [] }, at }: KeptNotice,
): Promise<void> {
  if (signed === undefined || recipient.event_count >= maxNotices) return;
  const id = randomUUID();
  await insertOf(storage).run(tx, {
    id,
    recipient_id: recipient.id,
    sealed_mdn: vault.seal(signed, evidenceContext(id)),
    signer_path: JSON.stringify(signerPath),
    received_at: at.getTime(),
  });
}
