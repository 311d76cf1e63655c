import { createPublicKey, randomUUID } from 'node:crypto';
import type { CodedError } from '../../core/index.ts';
import { createCsr, createKeyPair, readCertificate, readPem, readPrivateKey } from '../../lib/pki/index.ts';
import { domainOf, parseDirectAddress } from '../../lib/values/index.ts';
import type { Vault } from '../../platform/index.ts';
import { applyChange, applyChangesIn, type TrustStore } from './change.ts';
import { leaveOutDamaged, type OnDamaged } from './damaged.ts';
import { TrustError } from './errors.ts';
import { lockDomain, type Keys } from './keys.ts';
import { refuseClosedIn } from './limit-addresses.ts';
import type { Renewal } from './schedule-renewal.ts';
import type { TrustTables } from './tables.ts';

/** A key that was made here and waits for its certificate. */
export interface KeyRequest {
  readonly id: string;
  readonly owner: string;
  /** PKCS #10, DER: the request for the CA. */
  readonly csr: Uint8Array;
  readonly createdAt: Date;
}

export interface RequestOptions {
  readonly organization?: string | undefined;
  /** Returns the newest key of the owner that waits already, instead of making one more. */
  readonly reusesWaiting?: boolean;
}

/** Keys that are made here, so that the private one never leaves. */
export interface KeyRequests {
  /**
   * Makes a key for a hosted domain or an address under it. Throws TRUST_DOMAIN_UNKNOWN,
   * ORGANIZATION_CLOSED or TRUST_KEY_REQUESTS_FULL.
   */
  requestKey(owner: string, options?: RequestOptions): Promise<KeyRequest>;
  /** Those of a domain and of the addresses under it, oldest first. */
  listKeyRequests(domain: string): Promise<readonly KeyRequest[]>;
  /**
   * Makes a requested key of the domain an active one, by the certificate that was issued for it. Damaged
   * requests are left out. Throws TRUST_KEY_REQUEST_UNKNOWN if no key waits for this certificate,
   * INTEGRITY_ROW_CHANGED if only a damaged request can be the one, and the errors of `addKeyPair`.
   */
  installCertificate(
    domain: string,
    certificate: Uint8Array,
    options?: {
      readonly owner?: string | undefined;
      readonly renewal?: Renewal | undefined;
      readonly onDamaged?: OnDamaged | undefined;
    },
  ): Promise<{ readonly id: string; readonly owner: string }>;
  /** Deletes a key that waits for its certificate. Throws TRUST_KEY_REQUEST_UNKNOWN. */
  discardKeyRequest(id: string): Promise<void>;
}

type RequestRow = TrustTables['key_request'];

/** Of one domain. */
const maxRequests = 10;

export function createKeyRequests(
  store: TrustStore,
  vault: Vault,
  keys: Pick<Keys, 'addKeyPair'>,
): KeyRequests {
  const { clock, guards } = store;
  const db = store.storage.tables<TrustTables>();

  function readRows(domain: string): Promise<readonly RequestRow[]> {
    return db
      .selectFrom('key_request')
      .selectAll()
      .where('domain', '=', domain.toLowerCase())
      .orderBy('created_at')
      .orderBy('id')
      .execute();
  }

  async function findRows(domain: string): Promise<readonly RequestRow[]> {
    return guards.keyRequests.checkAll(await readRows(domain));
  }

  return {
    async requestKey(owner, { organization, reusesWaiting = false } = {}) {
      const key = owner.toLowerCase();
      const domain = domainOf(parseDirectAddress(key.includes('@') ? key : `postmaster@${key}`));
      const findWaiting = (rows: readonly RequestRow[]): RequestRow | undefined =>
        reusesWaiting ? rows.findLast((row) => row.owner === key) : undefined;
      // Checked first to save the work of making a key; the check under the lock of the domain decides.
      const known = await findRows(domain);
      const before = findWaiting(known);
      if (before !== undefined) return toRequest(before);
      refuseFull(domain, known.length);
      const pair = await createKeyPair();
      const boundTo = key.includes('@') ? { address: parseDirectAddress(key) } : { domain };
      const csr = createCsr({ boundTo, ...pair, organization });
      const id = randomUUID();
      const createdAt = clock.now();
      const change = { action: 'key.request', objects: { owner: key, keyRequest: id } };
      return store.storage.transaction<TrustTables, KeyRequest>(async (tx) => {
        await lockDomain(store, tx, domain);
        await refuseClosedIn(tx, store, key);
        const waiting = await tx
          .selectFrom('key_request')
          .selectAll()
          .where('domain', '=', domain)
          .orderBy('created_at')
          .orderBy('id')
          .execute();
        const meanwhile = findWaiting(await guards.keyRequests.checkAll(waiting));
        if (meanwhile !== undefined) return toRequest(meanwhile);
        refuseFull(domain, waiting.length);
        const row = guards.keyRequests.withMac({
          id,
          owner: key,
          domain,
          csr,
          sealed_private_key: vault.encrypt(
            pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
            `key-request:${id}`,
          ),
          created_at: createdAt.getTime(),
        });
        await tx.insertInto('key_request').values(row).execute();
        await applyChangesIn(tx, store, [change]);
        return { id, owner: key, csr, createdAt };
      });
    },
    async listKeyRequests(domain) {
      return (await findRows(domain)).map(toRequest);
    },
    async installCertificate(domain, certificate, { owner, renewal, onDamaged } = {}) {
      const parsed = readIssued(certificate);
      const wanted = parsed.publicKey.export({ type: 'spki', format: 'der' });
      let damage: CodedError | undefined;
      const rows = await leaveOutDamaged(guards.keyRequests, await readRows(domain), (error) => {
        damage = error;
        onDamaged?.(error);
      });
      for (const row of rows) {
        if (owner !== undefined && row.owner !== owner) continue;
        const privateKey = readPrivateKey(vault.decrypt(row.sealed_private_key, `key-request:${row.id}`));
        if (!createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).equals(wanted)) continue;
        const { id } = await keys.addKeyPair(row.owner, parsed.der, privateKey, {
          renewal,
          onDamaged,
          within: async (tx) => {
            const result = await tx.deleteFrom('key_request').where('id', '=', row.id).executeTakeFirst();
            if (result.numDeletedRows === 0n) throw unknownRequest();
          },
        });
        return { id, owner: row.owner };
      }
      throw damage ?? unknownRequest();
    },
    async discardKeyRequest(id) {
      await applyChange(store, { action: 'key.discard', objects: { keyRequest: id } }, async (tx) => {
        const result = await tx.deleteFrom('key_request').where('id', '=', id).executeTakeFirst();
        if (result.numDeletedRows === 0n) throw unknownRequest();
      });
    },
  };
}

function toRequest({ id, owner, csr, created_at }: RequestRow): KeyRequest {
  return { id, owner, csr: new Uint8Array(csr), createdAt: new Date(created_at) };
}

/** Throws TRUST_CERTIFICATE_INVALID. */
export function readIssued(bytes: Uint8Array): ReturnType<typeof readCertificate> {
  try {
    // The chain that some CAs add is not needed.
    const text = Buffer.from(bytes).toString('latin1');
    const [first] = readPem(text).filter(({ label }) => label === 'CERTIFICATE');
    return readCertificate(first?.der ?? bytes);
  } catch (cause) {
    throw new TrustError('TRUST_CERTIFICATE_INVALID', 'This is not an X.509 certificate in PEM or DER.', {
      cause,
    });
  }
}

function refuseFull(domain: string, count: number): void {
  if (count < maxRequests) return;
  throw new TrustError(
    'TRUST_KEY_REQUESTS_FULL',
    `${domain} has ${maxRequests} keys that wait for a certificate; delete some first.`,
  );
}

function unknownRequest(): TrustError {
  return new TrustError(
    'TRUST_KEY_REQUEST_UNKNOWN',
    'No key of the domain waits for this certificate: it was issued for another key.',
  );
}
