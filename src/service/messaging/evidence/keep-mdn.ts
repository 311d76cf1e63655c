import { createTimedUuid } from '../../../core/index.ts';
import { prepareInsert, type AnyTransaction } from '../../../platform/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies, OpenedMail } from '../ports.ts';
import type { FoundRecipient } from '../status/find-recipient.ts';
import type { MessagingTables } from '../tables.ts';
import { keepCertificates } from './keep-certificates.ts';

/** A peer that repeats its MDNs endlessly must not fill the database; a delivery takes three at most. */
const maxMdns = 10;

/** The context of an encrypted MDN. */
export const evidenceContext = (id: string): string => `evidence:${id}`;

const insertOf = perStorage((storage) =>
  prepareInsert<MessagingTables, 'mdn_evidence'>(storage, 'mdn_evidence'),
);

/** A verified MDN that entered the history of a recipient. */
export interface KeptMdn {
  readonly recipient: FoundRecipient;
  readonly opened: OpenedMail;
  readonly at: Date;
}

/**
 * Keeps an MDN as it was received, and the certificates of its signer's path, as evidence for a later proof
 * of delivery, in the transaction that applies it.
 */
export function keepMdn(
  tx: AnyTransaction,
  { storage, vault }: Pick<MessagingDependencies, 'storage' | 'vault'>,
  { recipient, opened: { signed, signerPath = [] }, at }: KeptMdn,
): void {
  if (signed === undefined || recipient.event_count >= maxMdns) return;
  const id = createTimedUuid(at);
  insertOf(storage).queue(tx, [
    {
      id,
      recipient_id: recipient.id,
      sealed_mdn: vault.encrypt(signed, evidenceContext(id)),
      signer_path: JSON.stringify(signerPath.map(({ fingerprint }) => fingerprint)),
      received_at: at.getTime(),
    },
  ]);
  keepCertificates(tx, { storage }, signerPath, at);
}
