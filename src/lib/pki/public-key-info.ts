import {
  childAt,
  encodedBytes,
  readAsn1,
  readBitString,
  readOid,
  sequenceItems,
  type Asn1,
} from '../asn1/index.ts';
import { oids } from './oids.ts';

export type KeyType = 'rsa' | 'ec' | 'other';

/** The key parameters in a SubjectPublicKeyInfo, without building the key. */
export interface PublicKeyInfo {
  readonly der: Uint8Array;
  readonly algorithmOid: string;
  readonly keyType: KeyType;
  /** Modulus or field size; 0 for other keys. */
  readonly keyBits: number;
  /** `P-256`, `P-384` or `P-521`; the OID of any other named curve. Absent unless `keyType` is `ec`. */
  readonly curve?: string;
  /** The key itself, without its AlgorithmIdentifier. */
  readonly keyBytes: Uint8Array;
}

const curves: Readonly<Record<string, { name: string; keyBits: number }>> = {
  [oids.p256]: { name: 'P-256', keyBits: 256 },
  [oids.p384]: { name: 'P-384', keyBits: 384 },
  [oids.p521]: { name: 'P-521', keyBits: 521 },
};

/** RFC 5280 §4.1.2.7, RFC 3279 §2.3.1, RFC 5480 §2. Errors: those of lib/asn1. */
export function readPublicKeyInfo(node: Asn1): PublicKeyInfo {
  const algorithm = childAt(node, 0);
  const algorithmOid = readOid(childAt(algorithm, 0));
  const { bytes } = readBitString(childAt(node, 1));
  const base = { der: encodedBytes(node), algorithmOid, keyBytes: bytes };
  if (algorithmOid === oids.rsaEncryption || algorithmOid === oids.rsaPss) {
    return { ...base, keyType: 'rsa', keyBits: modulusBits(bytes) };
  }
  if (algorithmOid === oids.ecPublicKey) {
    // Explicit curve parameters (RFC 5480 §2.1.1 forbids them) fail here, because they are not an OID.
    const curveOid = readOid(childAt(algorithm, 1));
    const curve = curves[curveOid];
    return { ...base, keyType: 'ec', keyBits: curve?.keyBits ?? 0, curve: curve?.name ?? curveOid };
  }
  return { ...base, keyType: 'other', keyBits: 0 };
}

function modulusBits(key: Uint8Array): number {
  const [modulus] = sequenceItems(readAsn1(key, { maxDepth: 4, maxNodes: 8 }));
  if (modulus === undefined) return 0;
  let at = modulus.contentStart;
  while (at < modulus.contentEnd && modulus.source[at] === 0) at++;
  const first = modulus.source[at] ?? 0;
  return at === modulus.contentEnd ? 0 : (modulus.contentEnd - at) * 8 - Math.clz32(first) + 24;
}
