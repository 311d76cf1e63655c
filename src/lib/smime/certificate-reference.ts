import { concatBytes, equalBytes, toHex } from '../../core/index.ts';
import {
  contentBytes,
  der,
  encodedBytes,
  isContext,
  octetStringPieces,
  readInteger,
  type Asn1,
} from '../asn1/index.ts';
import { describeName, findNameKey, shortName, type Certificate } from '../pki/index.ts';
import { readFields } from './structure.ts';

/** Names a certificate by issuer and serial number or by key identifier (RFC 5652 §5.3, §6.2.1). */
export type CertificateReference =
  | { readonly issuerDer: Uint8Array; readonly serialNumberDer: Uint8Array }
  | { readonly subjectKeyIdentifier: Uint8Array };

/** IssuerAndSerialNumber, or `[0] IMPLICIT` SubjectKeyIdentifier. */
export function readReference(node: Asn1): CertificateReference {
  if (isContext(node, 0)) return { subjectKeyIdentifier: concatBytes(octetStringPieces(node)) };
  const fields = readFields(node);
  const issuer = fields.take();
  const serial = fields.take();
  fields.finish();
  readInteger(serial);
  return { issuerDer: encodedBytes(issuer), serialNumberDer: contentBytes(serial) };
}

export function refersTo(reference: CertificateReference, certificate: Certificate): boolean {
  if ('subjectKeyIdentifier' in reference) {
    const { subjectKeyIdentifier } = certificate;
    return (
      subjectKeyIdentifier !== undefined && equalBytes(subjectKeyIdentifier, reference.subjectKeyIdentifier)
    );
  }
  // Programs write the name again, in other kinds of strings. Whose the key is, only the signature shows.
  return (
    equalBytes(certificate.serialNumberDer, reference.serialNumberDer) &&
    (equalBytes(certificate.issuerDer, reference.issuerDer) ||
      certificate.issuerKey === findNameKey(reference.issuerDer))
  );
}

/** For operators: `serial 0a1b of CN=Some CA`, or `key identifier 0a1b`. */
export function describeReference(reference: CertificateReference): string {
  if ('subjectKeyIdentifier' in reference)
    return `key identifier ${shortName(toHex(reference.subjectKeyIdentifier))}`;
  const { issuerDer, serialNumberDer } = reference;
  const serial =
    serialNumberDer.length > 1 && serialNumberDer[0] === 0 ? serialNumberDer.subarray(1) : serialNumberDer;
  return `serial ${shortName(toHex(serial))} of ${shortName(describeName(issuerDer))}`;
}

export function writeIssuerAndSerial({ issuerDer, serialNumberDer }: Certificate): Buffer {
  return der.sequence(issuerDer, der.tlv(0x02, serialNumberDer));
}
