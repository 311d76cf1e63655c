import { CodedError, errorText, isNoSocketCode } from '../../../core/index.ts';
import { certificateTypes, type CertRecord, type DnsResolver } from '../../dns/index.ts';
import { isPassingStatus, type GuardedFetch } from '../../fetch/index.ts';
import { PkiError, readCertificates, type Certificate } from '../../pki/index.ts';
import type { SourceAnswer } from './steps.ts';

export interface DnsSource {
  readonly dns: Pick<DnsResolver, 'resolveCert'>;
  /** For IPKIX records (DISC-04). Without it such records count as unreadable. */
  readonly fetch?: GuardedFetch;
}

/** Largest number of certificates accepted per name; more would be an attack on the path search. */
const maxRecords = 16;
const maxIpkixBytes = 64 * 1024;
const ipkixTimeoutMs = 5_000;

/**
 * Asks for CERT records at one name (DISC-02 to DISC-04). Throws `DNS_NO_SOCKET`, but never for failures of
 * servers.
 */
export async function askDns(name: string, source: DnsSource): Promise<SourceAnswer> {
  const query = `${name} CERT`;
  try {
    const answer = await source.dns.resolveCert(name);
    const records = answer.records.filter(isForDirect).slice(0, maxRecords);
    const { ttlSeconds, transport: via } = answer;
    if (records.length === 0) {
      const absent = {
        outcome: 'absent',
        certificates: [],
        unreadableCount: 0,
        ttlSeconds,
        query,
        via,
      } as const;
      return answer.status === 'nxdomain' ? { ...absent, isNameMissing: true } : absent;
    }
    const results = await Promise.all(records.map((record) => readRecord(record, source)));
    return { ...joinResults(results, ttlSeconds), query, via };
  } catch (error) {
    // Whoever cannot ask knows nothing about the place, nor about the next one.
    if (!(error instanceof CodedError) || isNoSocketCode(error.code)) throw error;
    // A name that DNS cannot express (a label over 63 octets) cannot have records.
    const outcome = error.isTransient ? 'unavailable' : 'absent';
    return { outcome, certificates: [], unreadableCount: 0, ttlSeconds: 0, query, detail: errorText(error) };
  }
}

/** Other types (OpenPGP, SPKI, private ones) are not for Direct and count as absence. */
function isForDirect({ certificateType }: CertRecord): boolean {
  return certificateType === certificateTypes.pkix || certificateType === certificateTypes.ipkix;
}

type RecordResult =
  | { readonly kind: 'read'; readonly certificates: readonly Certificate[]; readonly unreadableCount: number }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'unavailable'; readonly detail: string };

async function readRecord(record: CertRecord, { fetch }: DnsSource): Promise<RecordResult> {
  try {
    if (record.certificateType === certificateTypes.pkix) return readBytes(record.data);
    if (fetch === undefined) return { kind: 'unreadable' };
    // RFC 4398 §2.1: the data is a URL.
    const url = Buffer.from(record.data).toString('latin1');
    const { status, body } = await fetch(url, { timeoutMs: ipkixTimeoutMs, maxBytes: maxIpkixBytes });
    if (isPassingStatus(status))
      return { kind: 'unavailable', detail: `IPKIX: the server answered ${status}` };
    return status === 200 ? readBytes(body) : { kind: 'unreadable' };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return error.isTransient
      ? { kind: 'unavailable', detail: `IPKIX: ${errorText(error)}` }
      : { kind: 'unreadable' };
  }
}

function readBytes(bytes: Uint8Array): RecordResult {
  try {
    let unreadableCount = 0;
    const onUnreadable = (): void => void unreadableCount++;
    const certificates = readCertificates(bytes, { first: maxRecords, onUnreadable });
    return { kind: 'read', certificates, unreadableCount };
  } catch (error) {
    if (error instanceof PkiError) return { kind: 'unreadable' };
    throw error;
  }
}

function joinResults(results: readonly RecordResult[], ttlSeconds: number): Omit<SourceAnswer, 'query'> {
  const read = results.filter((result) => result.kind === 'read');
  const certificates = read.flatMap((result) => result.certificates);
  const unreadableCount =
    results.filter((result) => result.kind === 'unreadable').length +
    read.reduce((sum, result) => sum + result.unreadableCount, 0);
  const unavailable = results.find((result) => result.kind === 'unavailable');
  if (certificates.length === 0 && unavailable !== undefined) {
    return {
      outcome: 'unavailable',
      certificates,
      unreadableCount,
      ttlSeconds: 0,
      detail: unavailable.detail,
    };
  }
  const found = { outcome: 'found', certificates, unreadableCount, ttlSeconds } as const;
  return unavailable === undefined ? found : { ...found, detail: unavailable.detail, isIncomplete: true };
}
