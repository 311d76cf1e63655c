import { createPrivateKey, createPublicKey, randomUUID, type KeyObject } from 'node:crypto';
import type { Kysely } from 'kysely';
import { CodedError, equalBytes, quoteForShell } from '../../core/index.ts';
import {
  findValidityFault,
  readCertificate,
  type Certificate,
  type CertificateUse,
} from '../../lib/pki/index.ts';
import { addressKey, domainOf, type DirectAddress } from '../../lib/values/index.ts';
import type { Vault } from '../../platform/index.ts';
import { applyChange, type TrustStore } from './change.ts';
import type { OnDamaged } from './damaged.ts';
import { TrustError } from './errors.ts';
import { findUses, findUsesEver, namesOwner, refuseUnusable } from './key-uses.ts';
import { objectsOf, refuseLateSwitch, scheduleIn, type Renewal } from './schedule-renewal.ts';
import { refuseClosedIn } from './limit-addresses.ts';
import type { TrustTables } from './tables.ts';

/** One of our certificates with its private key, as plain bytes so that a worker thread can take it. */
export interface KeyMaterial {
  readonly id: string;
  /** DER. */
  readonly certificate: Uint8Array;
  /** PKCS #8 DER. Never logged, never leaves the process. */
  readonly privateKey: Uint8Array;
}

export interface AddKeyOptions {
  /** Only opens mail that was encrypted to it; it may have expired (AS-84). */
  readonly isRetired?: boolean;
  /** The pair replaces the others of its owner; without it, it signs at once, as they do. */
  readonly renewal?: Renewal | undefined;
  /** Told of each damaged pair that the renewal leaves as it is. */
  readonly onDamaged?: OnDamaged | undefined;
  /** Further changes in the same transaction. */
  readonly within?: (tx: Kysely<TrustTables>) => Promise<void>;
}

/** Of a row that somebody else wrote, and of a private key that cannot be decrypted. */
const damageCodes: ReadonlySet<string> = new Set(['INTEGRITY_ROW_CHANGED', 'PLATFORM_SEAL_BROKEN']);

export interface AddedKeyPair {
  readonly id: string;
  /** False if it was stored before; nothing was changed then. */
  readonly isNew: boolean;
}

/** A key pair of a domain or of an address under it, for administration. */
export interface DomainKeyPair {
  readonly id: string;
  readonly owner: string;
  readonly status: 'active' | 'retired';
  readonly certificate: Certificate;
  /** Uses for which peers accept it within its validity. */
  readonly uses: readonly CertificateUse[];
  readonly createdAt: Date;
  /** Undefined if it signs since it was added. */
  readonly signsFrom: Date | undefined;
  /** The end of the overlap with its successor; undefined without one. */
  readonly retiresAt: Date | undefined;
  /** True if `retireKeyPair` would now allow it without force. */
  readonly canRetire: boolean;
}

/** The certificates and private keys of our domains and addresses. */
export interface Keys {
  /**
   * Stores a pair for a hosted domain or for one address under it; one that is stored already and whole stays
   * as it is. Other stored pairs of the owner may be damaged. Throws ORGANIZATION_CLOSED,
   * TRUST_DOMAIN_UNKNOWN if the domain is not hosted, TRUST_KEY_NOT_BOUND if the certificate does not name
   * the owner in its subjectAltName (AS-10, AS-11), TRUST_KEY_MISMATCH if
   * the key is not the certificate's, TRUST_KEY_EXPIRED, TRUST_KEY_NOT_YET_VALID or TRUST_KEY_UNUSABLE if no
   * peer accepts it, TRUST_KEY_SWITCH_INVALID if it expires before it would sign.
   */
  addKeyPair(
    owner: string,
    certificate: Uint8Array,
    privateKey: KeyObject,
    options?: AddKeyOptions,
  ): Promise<AddedKeyPair>;
  /**
   * Stops signing with a pair and publishing it; it still decrypts. Throws TRUST_KEY_UNKNOWN, and
   * TRUST_KEY_LAST_ACTIVE without `isForced` if the owner is left without a valid pair to sign with or to be
   * encrypted to.
   */
  retireKeyPair(id: string, options?: { readonly isForced?: boolean }): Promise<void>;
  listKeyPairs(
    owner: string,
  ): Promise<readonly Pick<DomainKeyPair, 'id' | 'status' | 'certificate' | 'signsFrom' | 'retiresAt'>[]>;
  /** All pairs of a domain and of the addresses under it, those of the domain first, newest first. */
  listDomainKeys(domain: string): Promise<readonly DomainKeyPair[]>;
  /** The domain and the addresses under it that have an active pair, the domain first. */
  listKeyOwners(domain: string): Promise<readonly string[]>;
  /**
   * Active pairs that may sign for an address (AS-16): address-bound ones, or else those of its domain, and
   * only those whose certificates are for signing and valid now. If none is valid, those that would be it
   * otherwise, so that the refusal can say why. Of a pair and its successor one signs, by the date of the
   * switch; before it, too, once the first has expired.
   */
  findSigningKeys(address: DirectAddress): Promise<readonly KeyMaterial[]>;
  /**
   * Every pair that a message to these addresses may be encrypted to, retired ones included (AS-83, AS-84).
   */
  findDecryptionKeys(addresses: readonly DirectAddress[]): Promise<readonly KeyMaterial[]>;
  /**
   * The published certificates of an address or a domain in DNS and LDAP: the active ones to encrypt to that
   * are valid now (HOST-01, AS-16), because a peer may use the first one that it finds. If none is valid, or
   * none is to encrypt to, all of those. DER.
   */
  findPublished(owner: string): Promise<readonly Uint8Array[]>;
}

type KeyRow = TrustTables['key_pair'];

export function createKeys(store: TrustStore, vault: Vault): Keys {
  const { clock, guards } = store;
  const db = store.storage.tables<TrustTables>();
  // Rows never change but for their status, so an opened key stays right for as long as the process lives.
  const opened = new Map<string, KeyMaterial>();
  const parsed = new Map<string, Certificate>();
  const knownUses = new Map<string, readonly CertificateUse[]>();

  function parse(row: Pick<KeyRow, 'id' | 'certificate'>): Certificate {
    const certificate = parsed.get(row.id) ?? readCertificate(row.certificate);
    parsed.set(row.id, certificate);
    return certificate;
  }

  /** The pairs whose certificates are for that use; the two of a single-use pair are stored separately. */
  function onlyFor(use: CertificateUse, rows: readonly KeyRow[]): readonly KeyRow[] {
    return rows.filter((row) => {
      const uses = knownUses.get(row.id) ?? findUsesEver(parse(row), row.owner);
      knownUses.set(row.id, uses);
      return uses.includes(use);
    });
  }

  /** The pairs whose certificates are valid now; all if none is, so that peers and refusals can say why. */
  function onlyValid(rows: readonly KeyRow[]): readonly KeyRow[] {
    const now = clock.now();
    const valid = rows.filter((row) => findValidityFault(parse(row), now) === undefined);
    return valid.length > 0 ? valid : rows;
  }

  /** Without those that wait for their switch or have a successor; all if nothing else is left. */
  function onlyTheirTurn(rows: readonly KeyRow[]): readonly KeyRow[] {
    const now = clock.now().getTime();
    const signing = rows.filter(
      ({ signs_from, signs_until }) => (signs_from ?? 0) <= now && now < (signs_until ?? Infinity),
    );
    return signing.length > 0 ? signing : rows;
  }

  function openRow(row: Pick<KeyRow, 'id' | 'certificate' | 'sealed_private_key'>): KeyMaterial {
    const known = opened.get(row.id);
    if (known !== undefined) return known;
    const material: KeyMaterial = {
      id: row.id,
      certificate: new Uint8Array(row.certificate),
      privateKey: new Uint8Array(vault.decrypt(row.sealed_private_key, `private-key:${row.id}`)),
    };
    opened.set(row.id, material);
    return material;
  }

  async function findRows(owners: readonly string[], onlyActive: boolean): Promise<readonly KeyRow[]> {
    const rows = await Promise.all(owners.map(findOwned));
    return rows
      .flat()
      .filter((row) => !onlyActive || row.status === 'active')
      .toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
  }

  function findOwned(owner: string): Promise<readonly KeyRow[]> {
    return store.lookups.find(`keys ${owner}`, async () =>
      guards.keys.checkAll(await db.selectFrom('key_pair').selectAll().where('owner', '=', owner).execute()),
    );
  }

  /** The stored rows of a pair: one that is whole, or else all that are damaged. */
  async function findSame(
    owner: string,
    fingerprint: string,
    status: KeyRow['status'],
  ): Promise<{ readonly whole: string | undefined; readonly damaged: readonly string[] }> {
    const rows = await db
      .selectFrom('key_pair')
      .selectAll()
      .where('owner', '=', owner)
      .where('fingerprint', '=', fingerprint)
      .where('status', '=', status)
      .execute();
    const damaged: string[] = [];
    for (const row of rows) {
      try {
        await guards.keys.check(row);
        vault.decrypt(row.sealed_private_key, `private-key:${row.id}`);
        return { whole: row.id, damaged: [] };
      } catch (error) {
        if (!(error instanceof CodedError) || !damageCodes.has(error.code)) throw error;
        damaged.push(row.id);
      }
    }
    return { whole: undefined, damaged };
  }

  async function refuseForeignDomain(owner: string): Promise<void> {
    const domain = owner.slice(owner.lastIndexOf('@') + 1);
    const row = await db
      .selectFrom('hosted_domain')
      .select('domain')
      .where('domain', '=', domain)
      .executeTakeFirst();
    if (row === undefined)
      throw new TrustError(
        'TRUST_DOMAIN_UNKNOWN',
        `${domain} is not one of our domains. Host it first: openhisp domain add ${quoteForShell(domain)}`,
      );
  }

  return {
    async addKeyPair(owner, certificate, privateKey, options = {}) {
      const { isRetired = false, renewal, onDamaged, within } = options;
      const parsed = readCertificate(certificate);
      const key = ownerKey(owner);
      await refuseForeignDomain(key);
      if (!namesOwner(parsed, key)) {
        throw new TrustError(
          'TRUST_KEY_NOT_BOUND',
          `The certificate does not name ${key} in its subjectAltName.`,
        );
      }
      if (!isKeyOf(privateKey, parsed))
        throw new TrustError('TRUST_KEY_MISMATCH', 'The private key is not the one of the certificate.');
      refuseUnusable(parsed, key, { at: clock.now(), isRetired });
      if (renewal !== undefined) refuseLateSwitch(parsed, renewal);
      const status = isRetired ? 'retired' : 'active';
      // A second row would stay active and published after the first one was retired.
      const { whole, damaged } = await findSame(key, parsed.fingerprint, status);
      if (whole !== undefined && within === undefined) return { id: whole, isNew: false };
      const id = randomUUID();
      const createdAt = clock.now().getTime();
      const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
      const change = {
        action: 'key.add',
        objects: {
          owner: key,
          keyPair: id,
          fingerprint: parsed.fingerprint,
          ...(damaged.length > 0 && { replaced: damaged.join(' ') }),
          ...(renewal !== undefined && objectsOf(renewal)),
        },
      };
      await applyChange(store, change, async (tx) => {
        await lockDomain(store, tx, key);
        await refuseClosedIn(tx, store, key);
        // A damaged row would keep every other key of the owner from being used.
        if (damaged.length > 0) await tx.deleteFrom('key_pair').where('id', 'in', damaged).execute();
        await tx
          .insertInto('key_pair')
          .values(
            guards.keys.withMac({
              id,
              owner: key,
              certificate: parsed.der,
              fingerprint: parsed.fingerprint,
              sealed_private_key: vault.encrypt(pkcs8, `private-key:${id}`),
              status,
              created_at: createdAt,
              signs_from: renewal?.signsFrom.getTime() ?? null,
              signs_until: null,
              retires_at: null,
            }),
          )
          .execute();
        if (renewal !== undefined) {
          const successor = { id, owner: key, certificate: parsed, createdAt, plannedFor: null };
          await scheduleIn(tx, store, successor, renewal, onDamaged);
        }
        await within?.(tx);
      });
      return { id, isNew: true };
    },
    async retireKeyPair(id, { isForced = false } = {}) {
      await applyChange(store, { action: 'key.retire', objects: { keyPair: id } }, async (tx) => {
        const found = await tx.selectFrom('key_pair').select('owner').where('id', '=', id).executeTakeFirst();
        if (found !== undefined) await lockDomain(store, tx, found.owner);
        const row = await tx.selectFrom('key_pair').selectAll().where('id', '=', id).executeTakeFirst();
        if (row === undefined) throw new TrustError('TRUST_KEY_UNKNOWN', `Unknown key pair: ${id}.`);
        if (!isForced && row.status === 'active') await refuseLastActive(tx, row, clock.now());
        const { mac } = guards.keys.withMac({ ...(await guards.keys.check(row)), status: 'retired' });
        await tx.updateTable('key_pair').set({ status: 'retired', mac }).where('id', '=', id).execute();
      });
    },
    async listKeyPairs(owner) {
      const rows = await findRows([ownerKey(owner)], false);
      return rows.map((row) => ({
        id: row.id,
        status: row.status,
        certificate: readCertificate(row.certificate),
        signsFrom: dateOf(row.signs_from),
        retiresAt: dateOf(row.retires_at),
      }));
    },
    async listDomainKeys(domain) {
      const name = ownerKey(domain);
      const rows = await db
        .selectFrom('key_pair')
        .selectAll()
        .where((where) => where.or([where('owner', '=', name), where('owner', 'like', `%@${name}`)]))
        .execute();
      await guards.keys.checkAll(rows);
      const at = clock.now();
      const active = rows.filter(({ status }) => status === 'active');
      return rows
        .toSorted(
          (a, b) =>
            Number(b.owner === name) - Number(a.owner === name) ||
            (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : b.created_at - a.created_at),
        )
        .map((row): DomainKeyPair => {
          const certificate = parse(row);
          const others = active.filter(
            ({ id, owner }) => id !== row.id && (owner === row.owner || owner === name),
          );
          return {
            id: row.id,
            owner: row.owner,
            status: row.status,
            certificate,
            uses: findUsesEver(certificate, row.owner),
            createdAt: new Date(row.created_at),
            signsFrom: dateOf(row.signs_from),
            retiresAt: dateOf(row.retires_at),
            canRetire: row.status === 'retired' || findLost(row, others, at).isAllowed,
          };
        });
    },
    async listKeyOwners(domain) {
      const suffix = `@${ownerKey(domain)}`;
      const rows = await db
        .selectFrom('key_pair')
        .select('owner')
        .distinct()
        .where('status', '=', 'active')
        .orderBy('owner')
        .execute();
      const owners = rows.map(({ owner }) => owner);
      return [
        ...owners.filter((owner) => owner === ownerKey(domain)),
        ...owners.filter((owner) => owner.endsWith(suffix)),
      ];
    },
    async findSigningKeys(address) {
      const rows = await findRows([addressKey(address), domainOf(address)], true);
      const usable = onlyTheirTurn(onlyValid(onlyFor('signing', rows)));
      const addressBound = usable.filter((row) => row.owner === addressKey(address));
      return (addressBound.length > 0 ? addressBound : usable).map(openRow);
    },
    async findDecryptionKeys(addresses) {
      const owners = new Set(addresses.flatMap((address) => [addressKey(address), domainOf(address)]));
      const rows = await findRows([...owners], false);
      return rows.map(openRow);
    },
    async findPublished(owner) {
      const rows = await findRows([ownerKey(owner)], true);
      const toEncryptTo = onlyFor('encryption', rows);
      return onlyValid(toEncryptTo.length > 0 ? toEncryptTo : rows).map((row) => row.certificate);
    },
  };
}

function ownerKey(owner: string): string {
  return owner.toLowerCase();
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms);
}

/** Taken before a pair changes: of two that stand in for each other, only one can be retired at a time. */
export async function lockDomain(
  { storage }: TrustStore,
  tx: Kysely<TrustTables>,
  owner: string,
): Promise<void> {
  const domain = owner.slice(owner.lastIndexOf('@') + 1);
  await storage
    .forUpdate(tx.selectFrom('hosted_domain').select('domain').where('domain', '=', domain))
    .execute();
}

/** The active pairs of a domain and of its addresses. Throws INTEGRITY_ROW_CHANGED. */
export async function listActivePairs(
  { guards }: Pick<TrustStore, 'guards'>,
  tx: Kysely<TrustTables>,
  domain: string,
): Promise<readonly KeyRow[]> {
  return guards.keys.checkAll(
    await tx
      .selectFrom('key_pair')
      .selectAll()
      .where('status', '=', 'active')
      .where((eb) => eb.or([eb('owner', '=', domain), eb('owner', 'like', `%@${domain}`)]))
      .execute(),
  );
}

/** An address without its own pair uses those of its domain. */
export async function refuseLastActive(tx: Kysely<TrustTables>, row: KeyRow, at: Date): Promise<void> {
  const domain = row.owner.slice(row.owner.lastIndexOf('@') + 1);
  const others = await tx
    .selectFrom('key_pair')
    .selectAll()
    .where('owner', 'in', [row.owner, domain])
    .where('status', '=', 'active')
    .where('id', '!=', row.id)
    .execute();
  const { lost, isAllowed } = findLost(row, others, at);
  if (isAllowed) return;
  throw new TrustError(
    'TRUST_KEY_LAST_ACTIVE',
    `${row.owner} has no other valid key for ${lost.join(' and ') || 'any use'}: without this one its mail fails. ` +
      'Import a new one first, or add --force.',
  );
}

/** The uses that no other pair would cover, and whether the owner can be without this one. */
function findLost(
  row: KeyRow,
  others: readonly KeyRow[],
  at: Date,
): { readonly lost: readonly CertificateUse[]; readonly isAllowed: boolean } {
  const covered = new Set(
    others.flatMap((other) => findUses(readCertificate(other.certificate), other.owner, at)),
  );
  const lost = findUsesEver(readCertificate(row.certificate), row.owner).filter((use) => !covered.has(use));
  return { lost, isAllowed: lost.length === 0 && others.length > 0 };
}

function isKeyOf(privateKey: KeyObject, certificate: Certificate): boolean {
  const own = createPublicKey(createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  return equalBytes(
    own.export({ type: 'spki', format: 'der' }),
    certificate.publicKey.export({ type: 'spki', format: 'der' }),
  );
}
