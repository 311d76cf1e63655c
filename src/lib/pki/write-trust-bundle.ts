import { der } from '../asn1/index.ts';
import type { Certificate } from './certificate.ts';
import { oids } from './oids.ts';

/**
 * A trust bundle in its plain form: PKCS#7 with certificates and no signer, DER (BUNDLE-06). Its media type
 * is `application/pkcs7-mime`. Duplicates are dropped; equal anchors give equal bytes in every order.
 */
export function writeTrustBundle(anchors: readonly Pick<Certificate, 'der' | 'fingerprint'>[]): Buffer {
  const distinct = new Map(anchors.map((anchor) => [anchor.fingerprint, Buffer.from(anchor.der)]));
  const certificates = [...distinct.values()].toSorted((a, b) => Buffer.compare(a, b));
  return Buffer.from(
    der.sequence(
      der.oid(oids.pkcs7SignedData),
      der.explicit(
        0,
        der.sequence(
          der.integer(1),
          der.set(),
          der.sequence(der.oid(oids.pkcs7Data)),
          der.implicit(0, true, ...certificates),
          der.set(),
        ),
      ),
    ),
  );
}
