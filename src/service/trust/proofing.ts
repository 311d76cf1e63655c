import type { Kysely } from 'kysely';
import { addressKey, type DirectAddress } from '../../lib/values/index.ts';
import { tablesOf, type AnyTransaction } from '../../platform/index.ts';
import { applyChangesIn, type Change, type TrustStore } from './change.ts';
import type { TrustTables } from './tables.ts';

/** How the identity behind an address was proven; never a copy of a document. Dates are `YYYY-MM-DD`. */
export interface Proofing {
  /** As the trust community names it, for example `IAL2`. */
  readonly level: string;
  readonly method: string;
  readonly date: string;
  /** Empty if it does not expire. */
  readonly expires: string;
  /** Who verified it. */
  readonly verifier: string;
  /** Where the evidence is kept; may be empty. */
  readonly reference: string;
}

export interface ProofedAddress extends Proofing {
  readonly address: DirectAddress;
}

/** Records of identity proofing. */
export interface Proofings {
  /**
   * Stores records in the caller's transaction; with `proofing` undefined removes them. Returns for each
   * whether it differs from what was stored; with `isDry` nothing is stored.
   */
  storeProofingsIn(
    tx: AnyTransaction,
    records: readonly { readonly address: DirectAddress; readonly proofing: Proofing | undefined }[],
    isDry: boolean,
  ): Promise<readonly boolean[]>;
  findProofing(address: DirectAddress): Promise<Proofing | undefined>;
  /** By lower-cased address; those without a record are absent. */
  findProofings(addresses: readonly DirectAddress[]): Promise<ReadonlyMap<string, Proofing>>;
  /** Those of the active addresses of a domain that expire on a day before that one, the first first. */
  findExpiringProofings(domain: string, before: Date): Promise<readonly ProofedAddress[]>;
}

const maxLength = 200;
const dateForm = /^\d{4}-\d\d-\d\d$/;
const dayMs = 86_400_000;

/** Why a record cannot be stored, and because of which field; undefined if it can. */
export function findProofingFault(
  proofing: Proofing,
  now: Date,
): { readonly field: keyof Proofing; readonly text: string } | undefined {
  for (const field of ['level', 'method', 'date', 'verifier'] as const)
    if (proofing[field] === '')
      return { field, text: 'missing. A record has level, method, date and verifier.' };
  for (const field of fields) {
    const value = proofing[field];
    if (value.length > maxLength) return { field, text: `longer than ${maxLength} characters.` };
    if (/\p{C}/u.test(value)) return { field, text: 'a character that cannot be shown.' };
  }
  for (const field of ['date', 'expires'] as const) {
    const text = proofing[field];
    if (text !== '' && !isDay(text)) return { field, text: 'not a date such as 2026-11-21.' };
  }
  // It is the next day already in parts of the world.
  if (Date.parse(proofing.date) > now.getTime() + dayMs) return { field: 'date', text: 'in the future.' };
  if (proofing.expires !== '' && proofing.expires <= proofing.date)
    return { field: 'expires', text: 'not after the date of the proofing.' };
  return undefined;
}

function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return dateForm.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

const fields = ['level', 'method', 'date', 'expires', 'verifier', 'reference'] as const;
type ProofingRow = TrustTables['address_proofing'];

/** Rows of one statement. */
const batchSize = 500;

export function createProofings(store: TrustStore): Proofings {
  const { clock, storage } = store;
  const db = storage.tables<TrustTables>();

  async function findKnown(
    tx: Kysely<TrustTables>,
    addresses: readonly DirectAddress[],
  ): Promise<ReadonlyMap<string, ProofingRow>> {
    const known = new Map<string, ProofingRow>();
    for (let start = 0; start < addresses.length; start += batchSize) {
      const rows = await tx
        .selectFrom('address_proofing')
        .selectAll()
        .where('address_key', 'in', addresses.slice(start, start + batchSize).map(addressKey))
        .execute();
      for (const row of rows) known.set(row.address_key, row);
    }
    return known;
  }

  return {
    async storeProofingsIn(anyTx, records, isDry) {
      const tx = tablesOf<TrustTables>(anyTx);
      const known = await findKnown(
        tx,
        records.map(({ address }) => address),
      );
      const isChanged = records.map(({ address, proofing }) => {
        const old = known.get(addressKey(address));
        if (old === undefined || proofing === undefined)
          return (old === undefined) !== (proofing === undefined);
        const stored = toProofing(old);
        return fields.some((field) => stored[field] !== proofing[field]);
      });
      const changed = records.filter((_record, index) => isChanged[index]);
      if (isDry || changed.length === 0) return isChanged;
      const changes: Change[] = [];
      for (const { address, proofing } of changed) {
        const key = addressKey(address);
        await tx.deleteFrom('address_proofing').where('address_key', '=', key).execute();
        if (proofing !== undefined)
          await tx
            .insertInto('address_proofing')
            .values({
              address_key: key,
              level: proofing.level,
              method: proofing.method,
              proofed_on: proofing.date,
              expires_on: proofing.expires,
              verifier: proofing.verifier,
              reference: proofing.reference,
              updated_at: clock.now().getTime(),
            })
            .execute();
        changes.push(
          proofing === undefined
            ? { action: 'address.proof-remove', objects: { address } }
            : {
                action: 'address.proof',
                objects: { address, level: proofing.level, date: proofing.date },
              },
        );
      }
      await applyChangesIn(anyTx, store, changes);
      return isChanged;
    },
    async findProofing(address) {
      const row = await db
        .selectFrom('address_proofing')
        .selectAll()
        .where('address_key', '=', addressKey(address))
        .executeTakeFirst();
      return row === undefined ? undefined : toProofing(row);
    },
    async findProofings(addresses) {
      const known = await findKnown(db, addresses);
      return new Map([...known].map(([key, row]) => [key, toProofing(row)]));
    },
    async findExpiringProofings(domain, before) {
      const rows = await db
        .selectFrom('address_proofing as p')
        .innerJoin('hosted_address as a', 'a.address_key', 'p.address_key')
        .selectAll('p')
        .select('a.address')
        .where('a.domain', '=', domain.toLowerCase())
        .where('a.status', '=', 'active')
        .where('p.expires_on', '!=', '')
        .where('p.expires_on', '<', before.toISOString().slice(0, 10))
        .orderBy('p.expires_on')
        .orderBy('p.address_key')
        .execute();
      return rows.map(({ address, ...row }) => ({
        address: address as DirectAddress,
        ...toProofing(row),
      }));
    },
  };
}

function toProofing(row: ProofingRow): Proofing {
  const { level, method, proofed_on: date, expires_on: expires, verifier, reference } = row;
  return { level, method, date, expires, verifier, reference };
}
