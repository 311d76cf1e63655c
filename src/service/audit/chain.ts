/** The columns of one row, as stored. */
export interface AuditRow {
  sequence: number;
  recorded_at: number;
  action: string;
  actor: string | null;
  outcome: string;
  request_id: string | null;
  remote_address: string | null;
  /** JSON of an `AuditOrigin`, for what an operator did; null for all else. */
  origin: string | null;
  /** JSON object of identifiers, names sorted. */
  objects: string;
  previous_hash: Uint8Array;
  hash: Uint8Array;
}

/** The first row that is kept, once older ones were deleted. */
export interface AuditStartRow {
  /** 1: there is one row at most. */
  id: number;
  sequence: number;
  /** The hash of the last row that was deleted. */
  previous_hash: Uint8Array;
  /** The same, signed. */
  statement: string;
}

/** The key of the chain, and the one that signs statements about it. */
export interface AuditChainRow {
  /** 1: there is one row, since the first row of the chain. */
  id: number;
  chain_id: string;
  /** The data key from which the key of the chain is derived. */
  key_id: string;
  /** Ed25519, 32 bytes. */
  public_key: Uint8Array;
  /** PKCS #8, encrypted by the vault in the context `audit-chain:<chain_id>`. */
  sealed_private_key: Uint8Array;
  mac: Uint8Array;
}

/** The newest checkpoint. */
export interface AuditCheckpointRow {
  /** 1: there is one row at most. */
  id: number;
  /** Compact JWS of a `Checkpoint`. */
  statement: string;
}

export interface AuditTables {
  audit_event: AuditRow;
  audit_start: AuditStartRow;
  audit_chain: AuditChainRow;
  audit_checkpoint: AuditCheckpointRow;
}

/** HMAC-SHA-256 under the key of the chain. */
export type Authenticate = (...chunks: readonly (Uint8Array | string)[]) => Buffer;

/** The previous hash in the first row. */
export const chainStart: Uint8Array = Buffer.alloc(32);

/** HMAC-SHA-256 over the previous hash and the row's canonical JSON (fixed order, no white space). */
export function hashRow(row: Omit<AuditRow, 'hash'>, authenticate: Authenticate): Buffer {
  const canonical = JSON.stringify([
    row.sequence,
    row.recorded_at,
    row.action,
    row.actor,
    row.outcome,
    row.request_id,
    row.remote_address,
    row.objects,
    row.origin,
  ]);
  return authenticate(row.previous_hash, canonical);
}

/** Names sorted by code point, so that equal objects give equal text. */
export function canonicalObjects(objects: Readonly<Record<string, string | number>>): string {
  const names = Object.keys(objects).sort();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, shorten(objects[name] ?? '')])));
}

/** Identifiers are short; a longer one is an attempt to fill the log. */
const longestValue = 1000;

function shorten(value: string | number): string | number {
  return typeof value === 'string' && value.length > longestValue
    ? `${value.slice(0, longestValue)}…`
    : value;
}
