import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { createHmacSha256 } from '../../core/index.ts';
import type { EncryptedColumn, Vault } from '../../platform/index.ts';
import type { AuditChainRow, AuditTables, Authenticate } from './chain.ts';
import { AuditError } from './errors.ts';

/** The keys of a chain. */
export interface ChainState {
  readonly chainId: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly authenticate: Authenticate;
  /** PKCS #8 DER of the key that signs statements. */
  openPrivateKey(): Uint8Array;
}

/**
 * Undefined as long as the chain has no row. Throws AUDIT_CHAIN_BROKEN if the row that names its keys was
 * written without those of the vault.
 */
export async function readChainState(db: Kysely<AuditTables>, vault: Vault): Promise<ChainState | undefined> {
  const row = await db.selectFrom('audit_chain').selectAll().executeTakeFirst();
  return row && openState(row, vault);
}

/** The same for a chain that has begun. Throws AUDIT_CHAIN_BROKEN also if the row is missing. */
export async function requireChainState(db: Kysely<AuditTables>, vault: Vault): Promise<ChainState> {
  const state = await readChainState(db, vault);
  if (state !== undefined) return state;
  throw new AuditError('AUDIT_CHAIN_BROKEN', 'the row that names the key of the audit chain is missing');
}

/** Keys for a new chain. */
export function newChainRow(vault: Vault): AuditChainRow {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const chainId = randomUUID();
  const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' });
  const row = {
    id: 1,
    chain_id: chainId,
    key_id: vault.keyId,
    public_key: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
    sealed_private_key: vault.encrypt(pkcs8, encryptionContext(chainId)),
  };
  return { ...row, mac: vault.mac(macInput(row), macContext) };
}

export function openState(row: AuditChainRow, vault: Vault): ChainState {
  try {
    vault.requireMac(row.mac, macInput(row), macContext);
  } catch (cause) {
    throw new AuditError('AUDIT_CHAIN_BROKEN', 'the row that names the key of the audit chain was changed', {
      cause,
    });
  }
  return {
    chainId: row.chain_id,
    publicKey: row.public_key,
    authenticate: createHmacSha256(vault.deriveKey(row.key_id, `audit chain ${row.chain_id}`)),
    openPrivateKey: () => vault.decrypt(row.sealed_private_key, encryptionContext(row.chain_id)),
  };
}

/** The columns that the vault encrypts. */
export const auditEncryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'audit_chain',
    key: 'chain_id',
    column: 'sealed_private_key',
    context: (id) => encryptionContext(id),
  },
];

const macContext = 'audit-chain';
const encryptionContext = (chainId: string): string => `audit-chain:${chainId}`;

function macInput(row: Omit<AuditChainRow, 'mac'>): Uint8Array {
  const publicKey = Buffer.from(row.public_key).toString('hex');
  const fields = [row.chain_id, row.key_id, publicKey];
  return Buffer.from(JSON.stringify(fields));
}
