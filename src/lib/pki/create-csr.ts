import type { KeyObject } from 'node:crypto';
import { der } from '../asn1/index.ts';
import type { DirectCertificateRequest } from './issue-certificate.ts';
import { oids } from './oids.ts';
import { signObject } from './sign-object.ts';
import { extensionsDer } from './write-extensions.ts';
import { nameDer } from './write-names.ts';

const extensionRequestOid = '1.2.840.113549.1.9.14';

export interface CsrRequest {
  readonly boundTo: DirectCertificateRequest['boundTo'];
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  /** Named in the subject; some CAs ask for it. */
  readonly organization?: string | undefined;
}

/**
 * A certification request (PKCS #10, DER) for a certificate as AS-10 to AS-18 ask for it: bound to the
 * address or the domain by subjectAltName, for signing and encryption of mail.
 */
export function createCsr({ boundTo, publicKey, privateKey, organization }: CsrRequest): Buffer {
  const name = 'address' in boundTo ? boundTo.address : boundTo.domain.toLowerCase();
  const extensions = extensionsDer({
    keyUsage: ['digitalSignature', 'keyEncipherment'],
    extendedKeyUsage: [oids.emailProtection],
    ...('address' in boundTo ? { rfc822Names: [name] } : { dnsNames: [name] }),
  });
  const attribute = der.sequence(der.oid(extensionRequestOid), der.set(extensions ?? der.sequence()));
  const body = der.sequence(
    der.integer(0),
    // A common name holds 64 characters at most (RFC 5280 appendix A.1).
    nameDer([
      ...(organization === undefined ? [] : [['O', organization.slice(0, 64)] as const]),
      ['CN', name.slice(0, 64)],
    ]),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.implicit(0, true, attribute),
  );
  return signObject(body, privateKey, 'sha256');
}
