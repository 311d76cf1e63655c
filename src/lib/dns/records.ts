/** Record types and the shapes of their data. */

/** RFC 1035 §3.2.2, RFC 3596 §2.1, RFC 2782, RFC 4398 §2. */
export const typeCodes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  CERT: 37,
} as const;

export type RecordType = keyof typeof typeCodes;

/** Certificate types of RFC 4398 §2.1 that Direct uses (DISC-03, DISC-04). */
export const certificateTypes = { pkix: 1, ipkix: 4 } as const;

/** Example: `{ certificateType: 1, keyTag: 0, algorithm: 0, data: <DER> }` (RFC 4398 §2). */
export interface CertRecord {
  /** 1 PKIX (data is a DER certificate), 4 IPKIX (data is a URL); others are passed on as they are. */
  readonly certificateType: number;
  readonly keyTag: number;
  readonly algorithm: number;
  readonly data: Uint8Array;
}

export interface MxRecord {
  readonly priority: number;
  /** '' is the null MX of RFC 7505. */
  readonly exchange: string;
}

export interface SrvRecord {
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  /** '' says that the service is decidedly not available (RFC 2782). */
  readonly target: string;
}

export interface SoaRecord {
  readonly primaryServer: string;
  /** The mailbox as a name: `hostmaster.example.org`. */
  readonly mailbox: string;
  readonly serial: number;
  readonly refreshSeconds: number;
  readonly retrySeconds: number;
  readonly expireSeconds: number;
  /** Time for which absence may be cached (RFC 2308 §4). */
  readonly minimumSeconds: number;
}

export interface RecordData {
  readonly A: string;
  readonly AAAA: string;
  readonly NS: string;
  readonly CNAME: string;
  readonly PTR: string;
  readonly SOA: SoaRecord;
  readonly MX: MxRecord;
  /** The strings of one record, octets as Latin-1 characters. */
  readonly TXT: readonly string[];
  readonly SRV: SrvRecord;
  readonly CERT: CertRecord;
}

/**
 * Example: `{ name: 'direct.example.org', type: 'MX', ttlSeconds: 300, data: { priority: 10, exchange:
 * 'mx.example.org' } }`.
 */
export type DnsRecord = {
  readonly [Type in RecordType]: {
    readonly name: string;
    readonly type: Type;
    readonly ttlSeconds: number;
    readonly data: RecordData[Type];
  };
}[RecordType];
