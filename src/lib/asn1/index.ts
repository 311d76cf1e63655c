/**
 * Reads BER and DER and writes DER, as X.690 (2021) defines them, without a schema language: callers walk the
 * elements.
 *
 * Reading copies nothing, keeps the exact received bytes of every element, and is bounded in depth and in
 * number of elements. Not supported: REAL, EXTERNAL, CHARACTER STRING, constructed bit and character strings,
 * tag numbers over 28 bits. Used by lib/pki (certificates, CRLs), lib/smime (CMS), lib/ldap and the command
 * line.
 */
export { Asn1Error } from './errors.ts';
export { readAsn1, type Asn1, type ReadAsn1Options } from './read-asn1.ts';
export {
  childAt,
  contentBytes,
  encodedBytes,
  isContext,
  isUniversal,
  octetStringPieces,
  readBitString,
  readBoolean,
  readInteger,
  readOctetString,
  readOid,
  readSmallInteger,
  readText,
  sequenceItems,
  setItems,
} from './read-values.ts';
export { readTime } from './read-time.ts';
export { tags } from './tags.ts';
export { der } from './write-der.ts';
