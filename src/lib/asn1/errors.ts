import { codedError, type ErrorTable } from '../../core/index.ts';

export const asn1Errors = {
  /** The bytes end inside an element. */
  ASN1_TRUNCATED: { kind: 'invalid-input' },
  /** Bytes follow the one element that was expected. */
  ASN1_TRAILING_DATA: { kind: 'invalid-input' },
  /** A length that X.690 does not allow, or longer than what surrounds it. */
  ASN1_LENGTH_INVALID: { kind: 'invalid-input' },
  /** A tag that X.690 does not allow, for example a primitive SEQUENCE or end-of-contents out of place. */
  ASN1_TAG_INVALID: { kind: 'invalid-input' },
  ASN1_TOO_DEEP: { kind: 'too-large' },
  ASN1_TOO_MANY_NODES: { kind: 'too-large' },
  /** Valid BER where DER was demanded. */
  ASN1_NOT_DER: { kind: 'invalid-input' },
  /** Another type than the structure needs at this place. */
  ASN1_UNEXPECTED_TYPE: { kind: 'invalid-input' },
  /** The right type with content that is not a value of it. */
  ASN1_VALUE_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export type Asn1ErrorCode = keyof typeof asn1Errors;

export class Asn1Error extends codedError(asn1Errors) {}
