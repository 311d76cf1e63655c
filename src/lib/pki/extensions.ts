import {
  childAt,
  contentBytes,
  isContext,
  isUniversal,
  readAsn1,
  readBitString,
  readBoolean,
  readOctetString,
  readOid,
  readSmallInteger,
  sequenceItems,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import { PkiError } from './errors.ts';
import {
  generalNameKeys,
  noGeneralNames,
  readGeneralNamesValue,
  readUris,
  type GeneralNames,
} from './general-names.ts';
import { readNameConstraints, type NameConstraints } from './name-constraints.ts';
import { oids } from './oids.ts';
import { readPolicyRules, type PolicyRules } from './policy-rules.ts';

export type KeyUsage =
  | 'digitalSignature'
  | 'nonRepudiation'
  | 'keyEncipherment'
  | 'dataEncipherment'
  | 'keyAgreement'
  | 'keyCertSign'
  | 'cRLSign'
  | 'encipherOnly'
  | 'decipherOnly';

/** Bit names of KeyUsage in bit order (RFC 5280 §4.2.1.3). */
export const keyUsageNames: readonly KeyUsage[] = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
];

/** One extension of a certificate or CRL as received. */
export interface RawExtension {
  readonly oid: string;
  readonly isCritical: boolean;
  readonly value: Uint8Array;
}

/** The understood content of a certificate's extensions. */
export interface ExtensionValues {
  readonly names: GeneralNames;
  readonly keyUsage?: ReadonlySet<KeyUsage>;
  readonly extendedKeyUsage?: readonly string[];
  readonly isCa: boolean;
  readonly pathLength?: number;
  readonly subjectKeyIdentifier?: Uint8Array;
  readonly authorityKeyIdentifier?: Uint8Array;
  readonly nameConstraints?: NameConstraints;
  readonly policyOids: readonly string[];
  readonly policyRules: PolicyRules;
  readonly crlUrls: readonly string[];
  /** Of distribution points for some reasons only: their lists can revoke, but do not acquit. */
  readonly partialCrlUrls: readonly string[];
  /** Exact names of the distribution points, to be met by a CRL that is limited to one of them. */
  readonly crlPointKeys: readonly string[];
  readonly caIssuerUrls: readonly string[];
  /** Critical extensions that nothing here enforces: the certificate cannot be used (RFC 5280 §4.2). */
  readonly unknownCriticalOids: readonly string[];
}

/**
 * Reads Extensions (RFC 5280 §4.2), each at most once.
 * Errors: those of lib/asn1, and `PKI_CERTIFICATE_MALFORMED` for an extension that occurs twice.
 */
export function readExtensionList(node: Asn1 | undefined): readonly RawExtension[] {
  if (node === undefined) return [];
  const seen = new Set<string>();
  return sequenceItems(node).map((item) => {
    const extension = readExtension(item);
    if (seen.has(extension.oid)) {
      throw new PkiError('PKI_CERTIFICATE_MALFORMED', `extension ${extension.oid} occurs twice`);
    }
    seen.add(extension.oid);
    return extension;
  });
}

function readExtension(item: Asn1): RawExtension {
  const [oidNode, second, third] = sequenceItems(item);
  const hasFlag = isUniversal(second, tags.boolean);
  const valueNode = hasFlag ? third : second;
  if (oidNode === undefined || valueNode === undefined || item.children.length > (hasFlag ? 3 : 2)) {
    throw new PkiError('PKI_CERTIFICATE_MALFORMED', 'an extension without the expected parts');
  }
  return {
    oid: readOid(oidNode),
    isCritical: hasFlag && readBoolean(second),
    value: readOctetString(valueNode),
  };
}

/** Extensions whose content is enforced somewhere in this module, so that they may be critical. */
const enforcedOids: ReadonlySet<string> = new Set([
  oids.keyUsage,
  oids.subjectAltName,
  oids.basicConstraints,
  oids.nameConstraints,
  oids.crlDistributionPoints,
  oids.certificatePolicies,
  oids.policyMappings,
  oids.policyConstraints,
  oids.inhibitAnyPolicy,
  oids.extendedKeyUsage,
]);

/** Reads the extensions that the path rules need. Errors: those of lib/asn1 for malformed content. */
export function readExtensionValues(extensions: readonly RawExtension[]): ExtensionValues {
  const find = (oid: string): Asn1 | undefined => {
    const found = extensions.find((extension) => extension.oid === oid);
    return found === undefined ? undefined : readAsn1(found.value, { maxDepth: 16, maxNodes: 20_000 });
  };
  const keyUsage = mapDefined(find(oids.keyUsage), readKeyUsage);
  const purposes = mapDefined(find(oids.extendedKeyUsage), readOidList);
  const subjectKeyIdentifier = mapDefined(find(oids.subjectKeyIdentifier), readOctetString);
  const authorityKeyIdentifier = mapDefined(find(oids.authorityKeyIdentifier), readAuthorityKey);
  const nameConstraints = mapDefined(find(oids.nameConstraints), readNameConstraints);
  const points = mapDefined(find(oids.crlDistributionPoints), readCrlPoints);
  return {
    names: mapDefined(find(oids.subjectAltName), readGeneralNamesValue) ?? noGeneralNames,
    ...readBasicConstraints(find(oids.basicConstraints)),
    ...(keyUsage && { keyUsage }),
    ...(purposes && { extendedKeyUsage: purposes }),
    ...(subjectKeyIdentifier && { subjectKeyIdentifier }),
    ...(authorityKeyIdentifier && { authorityKeyIdentifier }),
    ...(nameConstraints && { nameConstraints }),
    policyOids: mapDefined(find(oids.certificatePolicies), readPolicyOids) ?? [],
    policyRules: readPolicyRules(find),
    crlUrls: points?.urls ?? [],
    partialCrlUrls: points?.partialUrls ?? [],
    crlPointKeys: points?.keys ?? [],
    caIssuerUrls: mapDefined(find(oids.authorityInfoAccess), readIssuerUrls) ?? [],
    unknownCriticalOids: extensions
      .filter((extension) => extension.isCritical && !enforcedOids.has(extension.oid))
      .map((extension) => extension.oid),
  };
}

function mapDefined<T>(node: Asn1 | undefined, read: (node: Asn1) => T): T | undefined {
  return node === undefined ? undefined : read(node);
}

function readKeyUsage(node: Asn1): ReadonlySet<KeyUsage> {
  const { bytes } = readBitString(node);
  const isSet = (_: KeyUsage, bit: number): boolean => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
  return new Set(keyUsageNames.filter(isSet));
}

function readOidList(node: Asn1): readonly string[] {
  return sequenceItems(node).map(readOid);
}

function readPolicyOids(node: Asn1): readonly string[] {
  return sequenceItems(node).map((policy) => readOid(childAt(policy, 0)));
}

function readBasicConstraints(node: Asn1 | undefined): { isCa: boolean; pathLength?: number } {
  if (node === undefined) return { isCa: false };
  const [first, second] = sequenceItems(node);
  const isCa = isUniversal(first, tags.boolean) && readBoolean(first);
  const lengthNode = isUniversal(first, tags.boolean) ? second : first;
  if (lengthNode === undefined) return { isCa };
  const pathLength = readSmallInteger(lengthNode);
  if (pathLength < 0) throw new PkiError('PKI_CERTIFICATE_MALFORMED', 'a negative path length');
  return { isCa, pathLength };
}

function readAuthorityKey(node: Asn1): Uint8Array | undefined {
  const key = sequenceItems(node).find((part) => isContext(part, 0));
  return key === undefined ? undefined : contentBytes(key);
}

interface CrlPoints {
  readonly urls: string[];
  readonly partialUrls: string[];
  readonly keys: string[];
}

function readCrlPoints(node: Asn1): CrlPoints {
  const points: CrlPoints = { urls: [], partialUrls: [], keys: [] };
  for (const point of sequenceItems(node)) {
    // A point with its own CRL issuer leads to an indirect CRL, which is refused anyway.
    if (point.children.some((part) => isContext(part, 2))) continue;
    const names = distributionPointNames(point.children.find((part) => isContext(part, 0)));
    const hasReasons = point.children.some((part) => isContext(part, 1));
    (hasReasons ? points.partialUrls : points.urls).push(...readUris(names).filter(isHttpUrl));
    points.keys.push(...generalNameKeys(names));
  }
  return points;
}

/**
 * The full names in a DistributionPointName (RFC 5280 §4.2.1.13), empty for a name relative to the issuer.
 */
function distributionPointNames(node: Asn1 | undefined): readonly Asn1[] {
  const fullName = node?.children[0];
  return isContext(fullName, 0) ? fullName.children : [];
}

/**
 * The caIssuers of an authority information access, of a certificate or a CRL (RFC 5280 §4.2.2.1, §5.2.7).
 */
export function readIssuerUrls(node: Asn1): readonly string[] {
  return sequenceItems(node)
    .filter((access) => readOid(childAt(access, 0)) === oids.caIssuers)
    .flatMap((access) => readUris([childAt(access, 1)]))
    .filter(isHttpUrl);
}

/**
 * Only HTTP is followed (TRUST-05, TRUST-06): the content is signed, so https would only add another chain to
 * check.
 */
function isHttpUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}
