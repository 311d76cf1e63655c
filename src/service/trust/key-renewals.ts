import { CodedError, quoteForShell } from '../../core/index.ts';
import { readCertificate } from '../../lib/pki/index.ts';
import type { AnyTransaction } from '../../platform/index.ts';
import { applyChange, applyChangesIn, type TrustStore } from './change.ts';
import type { OnDamaged } from './damaged.ts';
import { TrustError } from './errors.ts';
import { readIssued, type KeyRequests } from './key-requests.ts';
import { lockDomain, refuseLastActive } from './keys.ts';
import { objectsOf, refuseLateSwitch, scheduleIn, type Renewal } from './schedule-renewal.ts';
import type { TrustTables } from './tables.ts';

export interface InstalledRenewal {
  readonly id: string;
  readonly owner: string;
  readonly signsFrom: Date;
  /** `unchanged`: it was installed before, with other dates or the same. */
  readonly outcome: 'added' | 'rescheduled' | 'unchanged';
}

export interface InstallOptions {
  /** Refuses a certificate for another domain or address; without it, any whose key waits is taken. */
  readonly owner?: string | undefined;
  /** Moves the dates of one that was installed before. */
  readonly movesDates?: boolean;
  /** Told of each damaged request or pair that is left out. */
  readonly onDamaged?: OnDamaged | undefined;
}

/** A pair that takes the place of another one: both are published until the old one is retired. */
export interface KeyRenewals {
  /**
   * Makes a requested key an active one by the certificate that was issued for it, and plans the switch. Done
   * again it changes nothing, or the dates. Throws TRUST_KEY_REQUEST_UNKNOWN if no key waits for this
   * certificate, INTEGRITY_ROW_CHANGED if only a damaged one can be it, TRUST_KEY_SWITCH_INVALID, also for
   * new dates after the switch, and the errors of `addKeyPair`.
   */
  installRenewal(
    certificate: Uint8Array,
    renewal: Renewal,
    options?: InstallOptions,
  ): Promise<InstalledRenewal>;
  /**
   * Retires the pairs whose overlap has ended, unless their owner would be left without a valid key. Returns
   * how many. Several nodes may do it at the same time.
   */
  retireReplaced(): Promise<number>;
}

export function createKeyRenewals(
  store: TrustStore,
  requests: Pick<KeyRequests, 'installCertificate'>,
): KeyRenewals {
  const { clock, guards, storage } = store;
  const db = storage.tables<TrustTables>();

  async function findDomains(owner: string | undefined): Promise<readonly string[]> {
    if (owner !== undefined) return [owner.slice(owner.lastIndexOf('@') + 1)];
    const rows = await db.selectFrom('key_request').select('domain').distinct().orderBy('domain').execute();
    return rows.map(({ domain }) => domain);
  }

  /** The id and owner of the active pair that was installed with this certificate. */
  async function findInstalled(certificate: Uint8Array, owner: string | undefined) {
    return (
      db
        .selectFrom('key_pair')
        .select(['id', 'owner', 'signs_from'])
        .where('fingerprint', '=', readCertificate(certificate).fingerprint)
        .where('status', '=', 'active')
        // The one in use has none: its certificate was taken for the new one.
        .where('signs_from', 'is not', null)
        .$if(owner !== undefined, (query) => query.where('owner', '=', owner ?? ''))
        .executeTakeFirst()
    );
  }

  async function reschedule(id: string, renewal: Renewal, onDamaged?: OnDamaged): Promise<void> {
    const change = { action: 'key.schedule', objects: { keyPair: id, ...objectsOf(renewal) } };
    await applyChange(store, change, async (tx) => {
      const found = await tx.selectFrom('key_pair').select('owner').where('id', '=', id).executeTakeFirst();
      if (found !== undefined) await lockDomain(store, tx, found.owner);
      const stored = await tx.selectFrom('key_pair').selectAll().where('id', '=', id).executeTakeFirst();
      if (stored === undefined) throw new TrustError('TRUST_KEY_UNKNOWN', `Unknown key pair: ${id}.`);
      const row = await guards.keys.check(stored);
      const certificate = readCertificate(row.certificate);
      if (row.signs_from !== null && row.signs_from <= clock.now().getTime())
        throw new TrustError(
          'TRUST_KEY_SWITCH_INVALID',
          `The key signs since ${new Date(row.signs_from).toISOString()}: its dates cannot be moved any more. For another key: openhisp key renew ${quoteForShell(row.owner)}`,
        );
      refuseLateSwitch(certificate, renewal);
      const signsFrom = renewal.signsFrom.getTime();
      const { mac } = guards.keys.withMac({ ...row, signs_from: signsFrom });
      await tx.updateTable('key_pair').set({ signs_from: signsFrom, mac }).where('id', '=', id).execute();
      const { owner, created_at: createdAt, signs_from: plannedFor } = row;
      await scheduleIn(tx, store, { id, owner, certificate, createdAt, plannedFor }, renewal, onDamaged);
    });
  }

  async function isClosedIn(tx: AnyTransaction, domain: string): Promise<boolean> {
    const owner = (await store.ownership.findOwnersIn(tx, [domain])).get(domain);
    return owner !== undefined && (await store.ownership.find(owner, tx))?.closedAt !== undefined;
  }

  /** False if somebody else did it, or moved the date. */
  function retire(id: string, owner: string): Promise<boolean> {
    return storage.transaction<TrustTables, boolean>(async (tx) => {
      await lockDomain(store, tx, owner);
      const row = await tx.selectFrom('key_pair').selectAll().where('id', '=', id).executeTakeFirst();
      const now = clock.now();
      if (row?.status !== 'active' || row.retires_at === null || row.retires_at > now.getTime()) return false;
      // Those of a closed organization have no successor.
      if (!(await isClosedIn(tx, owner.slice(owner.lastIndexOf('@') + 1))))
        await refuseLastActive(tx, row, now);
      const { mac } = guards.keys.withMac({ ...(await guards.keys.check(row)), status: 'retired' });
      await tx.updateTable('key_pair').set({ status: 'retired', mac }).where('id', '=', id).execute();
      const objects = { owner, keyPair: id };
      await applyChangesIn(tx, store, [{ action: 'key.retire', actor: 'system', objects }]);
      return true;
    });
  }

  return {
    async installRenewal(certificate, renewal, { owner: named, movesDates = false, onDamaged } = {}) {
      const owner = named?.toLowerCase();
      const { der } = readIssued(certificate);
      let damage: CodedError | undefined;
      for (const domain of await findDomains(owner)) {
        try {
          const added = await requests.installCertificate(domain, der, { owner, renewal, onDamaged });
          return { ...added, signsFrom: renewal.signsFrom, outcome: 'added' };
        } catch (error) {
          if (!(error instanceof CodedError)) throw error;
          if (error.code === 'INTEGRITY_ROW_CHANGED') damage = error;
          else if (error.code !== 'TRUST_KEY_REQUEST_UNKNOWN') throw error;
        }
      }
      const installed = await findInstalled(der, owner);
      if (installed === undefined)
        throw (
          damage ??
          new TrustError(
            'TRUST_KEY_REQUEST_UNKNOWN',
            `No new key${owner === undefined ? '' : ` of ${owner}`} waits for this certificate: it was issued for another key.`,
          )
        );
      const { id, owner: ofPair, signs_from: storedFrom } = installed;
      if (movesDates) await reschedule(id, renewal, onDamaged);
      const signsFrom = movesDates ? renewal.signsFrom : new Date(storedFrom ?? 0);
      return { id, owner: ofPair, signsFrom, outcome: movesDates ? 'rescheduled' : 'unchanged' };
    },
    async retireReplaced() {
      const due = await db
        .selectFrom('key_pair')
        .select(['id', 'owner'])
        .where('status', '=', 'active')
        .where('retires_at', '<=', clock.now().getTime())
        .orderBy('id')
        .execute();
      let count = 0;
      for (const { id, owner } of due) {
        try {
          if (await retire(id, owner)) count += 1;
        } catch (error) {
          // The doctor names what stays; the others are not kept waiting for it.
          if (!(error instanceof CodedError) || !staying.has(error.code)) throw error;
        }
      }
      return count;
    },
  };
}

const staying: ReadonlySet<string> = new Set(['TRUST_KEY_LAST_ACTIVE', 'INTEGRITY_ROW_CHANGED']);
