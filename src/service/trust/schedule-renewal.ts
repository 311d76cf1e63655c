import type { Kysely } from 'kysely';
import { readCertificate, type Certificate } from '../../lib/pki/index.ts';
import type { TrustStore } from './change.ts';
import { leaveOutDamaged, type OnDamaged } from './damaged.ts';
import { TrustError } from './errors.ts';
import { findUsesEver } from './key-uses.ts';
import type { TrustTables } from './tables.ts';

/** When a pair takes the place of the others of its owner. It is published and decrypts at once. */
export interface Renewal {
  /** From then on it signs, and they do not. */
  readonly signsFrom: Date;
  /** The end of the overlap: from then on they only decrypt. */
  readonly retiresAt: Date;
}

interface Successor {
  readonly id: string;
  readonly owner: string;
  readonly certificate: Certificate;
  readonly createdAt: number;
  /** The switch that was planned before; null for a new pair. */
  readonly plannedFor: number | null;
}

/**
 * Plans the end of the pairs that a new one stands in for: those of its owner with one of its uses. Damaged
 * ones are left as they are: a new key is needed just then.
 */
export async function scheduleIn(
  tx: Kysely<TrustTables>,
  { guards }: Pick<TrustStore, 'guards'>,
  { id, owner, certificate, createdAt, plannedFor }: Successor,
  { signsFrom, retiresAt }: Renewal,
  onDamaged?: OnDamaged,
): Promise<void> {
  const uses = findUsesEver(certificate, owner);
  const rows = await tx
    .selectFrom('key_pair')
    .selectAll()
    .where('owner', '=', owner)
    .where('status', '=', 'active')
    .where('id', '!=', id)
    .where('created_at', '<=', createdAt)
    .execute();
  for (const row of await leaveOutDamaged(guards.keys, rows, onDamaged)) {
    if (!findUsesEver(readCertificate(row.certificate), owner).some((use) => uses.includes(use))) continue;
    // One that another successor ends earlier stays with that.
    const isOurs = row.signs_until === null || row.signs_until === plannedFor;
    const dates = {
      signs_until: isOurs ? signsFrom.getTime() : row.signs_until,
      retires_at: isOurs ? retiresAt.getTime() : Math.min(row.retires_at ?? Infinity, retiresAt.getTime()),
    };
    const { mac } = guards.keys.withMac({ ...row, ...dates });
    await tx
      .updateTable('key_pair')
      .set({ ...dates, mac })
      .where('id', '=', row.id)
      .execute();
  }
}

/** Throws TRUST_KEY_SWITCH_INVALID. */
export function refuseLateSwitch({ notAfter }: Certificate, { signsFrom, retiresAt }: Renewal): void {
  const from = signsFrom.toISOString();
  if (signsFrom.getTime() >= notAfter.getTime())
    throw new TrustError(
      'TRUST_KEY_SWITCH_INVALID',
      `The certificate expires on ${notAfter.toISOString()}, before it would sign (${from}). Switch earlier.`,
    );
  if (retiresAt.getTime() < signsFrom.getTime())
    throw new TrustError(
      'TRUST_KEY_SWITCH_INVALID',
      `The old key would be retired (${retiresAt.toISOString()}) before the new one signs (${from}).`,
    );
}

/** For the audit trail. */
export function objectsOf({ signsFrom, retiresAt }: Renewal): Readonly<Record<string, string>> {
  return { signsFrom: signsFrom.toISOString(), retiresAt: retiresAt.toISOString() };
}
