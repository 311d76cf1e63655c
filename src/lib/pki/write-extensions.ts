import { concatBytes } from '../../core/index.ts';
import { der } from '../asn1/index.ts';
import { keyUsageNames, type KeyUsage, type RawExtension } from './extensions.ts';
import { oids } from './oids.ts';
import { generalNameDer, type NameAttributes } from './write-names.ts';

/** Names that a CA may (or may not) vouch for. */
export interface SubtreeNames {
  readonly rfc822?: readonly string[];
  readonly dns?: readonly string[];
  readonly directory?: readonly NameAttributes[];
  readonly uri?: readonly string[];
}

/** Values of the extensions of a new certificate; absent ones are omitted. */
export interface ExtensionRequest {
  readonly isCa?: boolean;
  readonly pathLength?: number;
  readonly keyUsage?: readonly KeyUsage[];
  /** OIDs. */
  readonly extendedKeyUsage?: readonly string[];
  readonly rfc822Names?: readonly string[];
  readonly dnsNames?: readonly string[];
  /** Further GeneralName elements, already encoded. */
  readonly otherNames?: readonly Uint8Array[];
  readonly caIssuerUrls?: readonly string[];
  readonly crlUrls?: readonly string[];
  readonly policyOids?: readonly string[];
  readonly nameConstraints?: { readonly permitted?: SubtreeNames; readonly excluded?: SubtreeNames };
  readonly subjectKeyIdentifier?: Uint8Array;
  readonly authorityKeyIdentifier?: Uint8Array;
  /** Written as they are, after the others. */
  readonly extensions?: readonly RawExtension[];
}

/** The Extensions of RFC 5280 §4.2 with criticality as the RFC asks, or undefined if there are none. */
export function extensionsDer(request: ExtensionRequest): Buffer | undefined {
  const all = [...listExtensions(request), ...(request.extensions ?? [])];
  return all.length === 0 ? undefined : der.sequence(...all.map(extensionDer));
}

export function extensionDer({ oid, isCritical, value }: RawExtension): Buffer {
  const flag = isCritical ? [der.boolean(true)] : [];
  return der.sequence(der.oid(oid), ...flag, der.octetString(value));
}

function listExtensions(request: ExtensionRequest): RawExtension[] {
  const list: RawExtension[] = [];
  const add = (oid: string, isCritical: boolean, value: Uint8Array | undefined): void => {
    if (value !== undefined) list.push({ oid, isCritical, value });
  };
  add(oids.basicConstraints, true, basicConstraintsDer(request));
  add(oids.keyUsage, true, request.keyUsage && keyUsageDer(request.keyUsage));
  add(
    oids.extendedKeyUsage,
    false,
    request.extendedKeyUsage && der.sequence(...request.extendedKeyUsage.map(der.oid)),
  );
  add(oids.subjectAltName, false, namesDer(request));
  add(
    oids.subjectKeyIdentifier,
    false,
    request.subjectKeyIdentifier && der.octetString(request.subjectKeyIdentifier),
  );
  add(oids.authorityKeyIdentifier, false, authorityKeyDer(request.authorityKeyIdentifier));
  add(oids.authorityInfoAccess, false, issuerUrlsDer(request.caIssuerUrls));
  add(oids.crlDistributionPoints, false, crlUrlsDer(request.crlUrls));
  add(oids.certificatePolicies, false, policiesDer(request.policyOids));
  add(oids.nameConstraints, true, nameConstraintsDer(request.nameConstraints));
  return list;
}

function basicConstraintsDer({ isCa, pathLength }: ExtensionRequest): Buffer | undefined {
  if (isCa === undefined && pathLength === undefined) return undefined;
  return der.sequence(
    ...(isCa === true ? [der.boolean(true)] : []),
    ...(pathLength === undefined ? [] : [der.integer(pathLength)]),
  );
}

/** A named bit list: trailing zero bits are not written (X.690 §11.2.2). */
function keyUsageDer(usages: readonly KeyUsage[]): Buffer {
  const bits = usages.map((usage) => keyUsageNames.indexOf(usage));
  const highest = Math.max(0, ...bits);
  const bytes = Buffer.alloc((highest >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return der.bitString(bytes, 7 - (highest & 7));
}

function namesDer({
  rfc822Names = [],
  dnsNames = [],
  otherNames = [],
}: ExtensionRequest): Buffer | undefined {
  const names = [
    ...rfc822Names.map(generalNameDer.rfc822),
    ...dnsNames.map(generalNameDer.dns),
    ...otherNames,
  ];
  return names.length === 0 ? undefined : der.sequence(...names);
}

function authorityKeyDer(keyIdentifier: Uint8Array | undefined): Buffer | undefined {
  return keyIdentifier && der.sequence(der.implicit(0, false, keyIdentifier));
}

function issuerUrlsDer(urls: readonly string[] = []): Buffer | undefined {
  if (urls.length === 0) return undefined;
  return der.sequence(...urls.map((url) => der.sequence(der.oid(oids.caIssuers), generalNameDer.uri(url))));
}

function crlUrlsDer(urls: readonly string[] = []): Buffer | undefined {
  if (urls.length === 0) return undefined;
  return der.sequence(
    ...urls.map((url) => der.sequence(der.explicit(0, der.implicit(0, true, generalNameDer.uri(url))))),
  );
}

function policiesDer(policyOids: readonly string[] = []): Buffer | undefined {
  if (policyOids.length === 0) return undefined;
  return der.sequence(...policyOids.map((oid) => der.sequence(der.oid(oid))));
}

function nameConstraintsDer(constraints: ExtensionRequest['nameConstraints']): Buffer | undefined {
  if (constraints === undefined) return undefined;
  const trees = [constraints.permitted, constraints.excluded].map((names, tag) => {
    const bases = names === undefined ? [] : basesDer(names);
    return bases.length === 0
      ? Buffer.alloc(0)
      : der.implicit(tag, true, concatBytes(bases.map((base) => der.sequence(base))));
  });
  return der.sequence(...trees);
}

function basesDer({ rfc822 = [], dns = [], directory = [], uri = [] }: SubtreeNames): Buffer[] {
  return [
    ...rfc822.map(generalNameDer.rfc822),
    ...dns.map(generalNameDer.dns),
    ...directory.map(generalNameDer.directory),
    ...uri.map(generalNameDer.uri),
  ];
}
