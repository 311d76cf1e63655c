import type { KeyObject } from 'node:crypto';
import type { DirectAddress } from '../values/index.ts';
import type { Certificate } from './certificate.ts';
import { createCertificate, type Issuer } from './create-certificate.ts';
import { oids } from './oids.ts';
import { generalNameDer, type NameAttributes } from './write-names.ts';

export interface AuthorityRequest {
  readonly subject: NameAttributes;
  readonly publicKey: KeyObject;
  /** Absent for a root, which then signs itself with `privateKey`. */
  readonly issuer?: Issuer;
  readonly privateKey?: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly pathLength?: number;
  readonly crlUrls?: readonly string[];
  readonly caIssuerUrls?: readonly string[];
}

/** A CA certificate that may sign certificates and CRLs: a root, or below `issuer`. */
export function createAuthority(request: AuthorityRequest): Certificate {
  return createCertificate({ ...request, isCa: true, keyUsage: ['keyCertSign', 'cRLSign'] });
}

export interface DirectCertificateRequest {
  /** One name, as peers expect (AS-13): a Direct address, or the domain for all its addresses. */
  readonly boundTo: { readonly address: DirectAddress } | { readonly domain: string };
  readonly publicKey: KeyObject;
  readonly issuer: Issuer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** URLs of the issuer's certificate and CRL (AS-18). */
  readonly caIssuerUrls?: readonly string[];
  readonly crlUrls?: readonly string[];
  readonly policyOids?: readonly string[];
  /** Default `both`; single use makes two certificates (AS-16). */
  readonly use?: 'both' | 'signing' | 'encryption';
}

const usages = {
  both: ['digitalSignature', 'keyEncipherment'],
  signing: ['digitalSignature'],
  encryption: ['keyEncipherment'],
} as const;

export interface ServerCertificateRequest extends Pick<
  DirectCertificateRequest,
  'publicKey' | 'issuer' | 'notBefore' | 'notAfter'
> {
  readonly dnsNames: readonly string[];
  /** Octets in network order. */
  readonly ipAddresses?: readonly Uint8Array[];
}

/** A certificate of a TLS server (RFC 5280 §4.2.1.12). */
export function issueServerCertificate(request: ServerCertificateRequest): Certificate {
  const { ipAddresses = [], ...rest } = request;
  return createCertificate({
    ...rest,
    subject: [['CN', (request.dnsNames[0] ?? 'server').slice(0, 64)]],
    isCa: false,
    keyUsage: usages.both,
    extendedKeyUsage: [oids.serverAuth],
    otherNames: ipAddresses.map(generalNameDer.ipAddress),
  });
}

/** An end-entity certificate as AS-10 to AS-18 ask for it. */
export function issueDirectCertificate(request: DirectCertificateRequest): Certificate {
  const { boundTo, use = 'both', ...rest } = request;
  const isAddress = 'address' in boundTo;
  const name = isAddress ? boundTo.address : boundTo.domain.toLowerCase();
  return createCertificate({
    ...rest,
    // A common name holds 64 characters at most (RFC 5280 appendix A.1); the binding is in subjectAltName
    // alone.
    subject: [['CN', name.slice(0, 64)]],
    isCa: false,
    keyUsage: usages[use],
    extendedKeyUsage: [oids.emailProtection],
    ...(isAddress ? { rfc822Names: [name] } : { dnsNames: [name] }),
  });
}
