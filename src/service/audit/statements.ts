import { createPrivateKey, createPublicKey, hash } from 'node:crypto';
import { errorText } from '../../core/index.ts';
import { AuditError } from './errors.ts';

/** A row of the chain by number and hash. Hashes are hex. */
export interface ChainPosition {
  readonly sequence: number;
  readonly hash: string;
}

/** Start of the kept rows: the number of the first one, and the hash before it. */
export interface ChainBeginning {
  readonly sequence: number;
  readonly previousHash: string;
}

/**
 * The service's statement about its chain at one time. Example:
 * `{"chain":"…","time":"2026-05-01T00:00:00.000Z","first":{"sequence":1,"previousHash":"00…"},"last":{"sequence":90,"hash":"5f…"}}`
 */
export interface Checkpoint {
  /** Names the chain, so that a statement about another one does not pass for one about this. */
  readonly chain: string;
  readonly time: string;
  readonly first: ChainBeginning;
  readonly last: ChainPosition;
}

/** The rest of the chain after old rows were deleted. */
export interface StartStatement {
  readonly chain: string;
  readonly time: string;
  readonly first: ChainBeginning;
}

/** The `typ` of each kind, so that one never passes for the other (RFC 8725 §3.11). */
export const statementTypes = {
  checkpoint: 'openhisp-audit-checkpoint+jws',
  start: 'openhisp-audit-start+jws',
  /** The file of `openhisp evidence pack`. */
  pack: 'openhisp-evidence-pack+jws',
} as const;

export type StatementType = (typeof statementTypes)[keyof typeof statementTypes];

/** An Ed25519 public key as a JWK (RFC 8037 §2). */
export interface AuditPublicKey {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** base64url of 32 bytes. */
  readonly x: string;
  readonly kid: string;
}

/** The JWK of a raw key of 32 bytes; `kid` is its thumbprint (RFC 7638 §3, RFC 8037 appendix A.3). */
export function toJwk(raw: Uint8Array): AuditPublicKey {
  const x = Buffer.from(raw).toString('base64url');
  const kid = hash('sha256', `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid };
}

/** Signs a statement as a compact JWS (RFC 7515 §7.1) by Ed25519 (RFC 8037 §3.1). `pkcs8` is DER. */
export async function signStatement(
  type: StatementType,
  statement: object,
  key: { readonly pkcs8: Uint8Array; readonly publicKey: Uint8Array },
): Promise<string> {
  // Loaded when a statement is signed or read: few commands need it.
  const { CompactSign } = await import('jose');
  const privateKey = createPrivateKey({ key: Buffer.from(key.pkcs8), format: 'der', type: 'pkcs8' });
  return await new CompactSign(Buffer.from(JSON.stringify(statement)))
    .setProtectedHeader({ alg: 'EdDSA', kid: toJwk(key.publicKey).kid, typ: type })
    .sign(privateKey);
}

/** The statement, if it is of this type and signed by this key. Rejects with AUDIT_STATEMENT_INVALID. */
export async function readStatement<Statement extends object>(
  type: StatementType,
  text: string,
  publicKey: Uint8Array,
): Promise<Statement> {
  const { compactVerify } = await import('jose');
  const jwk = toJwk(publicKey);
  const key = createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: 'jwk' });
  try {
    const { payload, protectedHeader } = await compactVerify(text.trim(), key, { algorithms: ['EdDSA'] });
    if (protectedHeader.typ !== type) throw new SyntaxError(`not of the type ${type}`);
    return JSON.parse(Buffer.from(payload).toString()) as Statement;
  } catch (cause) {
    throw new AuditError(
      'AUDIT_STATEMENT_INVALID',
      `not a statement of an audit trail, of the type ${type}, signed by the key ${jwk.kid}: ${errorText(cause)}`,
      { cause },
    );
  }
}
