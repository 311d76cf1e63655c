import { der } from '../asn1/index.ts';
import type { Issuer } from './create-certificate.ts';
import type { RawExtension } from './extensions.ts';
import { oids } from './oids.ts';
import { crlReasons, type CrlReason } from './crl.ts';
import { signatureAlgorithmDer, signObject, type SignatureDigest } from './sign-object.ts';
import { extensionDer } from './write-extensions.ts';

export interface RevokedEntry {
  /** Magnitude of the serial number, big-endian. */
  readonly serialNumber: Uint8Array;
  readonly revokedAt: Date;
  readonly reason?: CrlReason;
  /** Further entry extensions, written as they are. */
  readonly extensions?: readonly RawExtension[];
}

export interface CrlRequest {
  readonly issuer: Issuer;
  readonly thisUpdate: Date;
  /** Left out if absent, which RFC 5280 §5.1.2.5 forbids. */
  readonly nextUpdate?: Date;
  readonly revoked: readonly RevokedEntry[];
  readonly crlNumber?: number;
  readonly digest?: SignatureDigest;
  /** Further CRL extensions, written as they are. */
  readonly extensions?: readonly RawExtension[];
}

/** Makes and signs a full CRL (RFC 5280 §5) of one CA, as DER. */
export function createCrl(request: CrlRequest): Buffer {
  const digest = request.digest ?? 'sha256';
  const { certificate, privateKey } = request.issuer;
  const extensions = [
    { oid: oids.crlNumber, isCritical: false, value: der.integer(request.crlNumber ?? 1) },
    ...(certificate.subjectKeyIdentifier
      ? [
          {
            oid: oids.authorityKeyIdentifier,
            isCritical: false,
            value: der.sequence(der.implicit(0, false, certificate.subjectKeyIdentifier)),
          },
        ]
      : []),
    ...(request.extensions ?? []),
  ];
  const body = der.sequence(
    der.integer(1),
    signatureAlgorithmDer(privateKey, digest),
    certificate.subjectDer,
    der.time(request.thisUpdate),
    ...(request.nextUpdate ? [der.time(request.nextUpdate)] : []),
    ...(request.revoked.length > 0 ? [der.sequence(...request.revoked.map(entryDer))] : []),
    der.explicit(0, der.sequence(...extensions.map(extensionDer))),
  );
  return signObject(body, privateKey, digest);
}

function entryDer(entry: RevokedEntry): Buffer {
  const reason =
    entry.reason === undefined
      ? []
      : [{ oid: oids.crlReason, isCritical: false, value: der.enumerated(crlReasons.indexOf(entry.reason)) }];
  const extensions = [...reason, ...(entry.extensions ?? [])];
  return der.sequence(
    der.unsignedInteger(entry.serialNumber),
    der.time(entry.revokedAt),
    ...(extensions.length > 0 ? [der.sequence(...extensions.map(extensionDer))] : []),
  );
}
