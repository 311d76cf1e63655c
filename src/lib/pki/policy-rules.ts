import {
  childAt,
  contentBytes,
  isContext,
  readOid,
  readSmallInteger,
  sequenceItems,
  type Asn1,
} from '../asn1/index.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';

/**
 * What a certificate says about the policies of the path below it (RFC 5280 §4.2.1.5, §4.2.1.11, §4.2.1.14).
 */
export interface PolicyRules {
  /** Pairs of a policy of the issuer and the subject's policy that it accepts as equal. */
  readonly mappings: readonly (readonly [issuer: string, subject: string])[];
  /** Certificates that may follow before every one must have a valid policy. */
  readonly requireExplicitPolicy?: number;
  readonly inhibitPolicyMapping?: number;
  readonly inhibitAnyPolicy?: number;
}

/** Errors: those of lib/asn1, and `PKI_CERTIFICATE_MALFORMED` for a negative number. */
export function readPolicyRules(find: (oid: string) => Asn1 | undefined): PolicyRules {
  const mappings = find(oids.policyMappings);
  const constraints = find(oids.policyConstraints)?.children ?? [];
  const inhibitAny = find(oids.inhibitAnyPolicy);
  const skipCerts = (tag: number): number | undefined => {
    const node = constraints.find((part) => isContext(part, tag));
    return node && readImplicitCount(contentBytes(node));
  };
  const requireExplicitPolicy = skipCerts(0);
  const inhibitPolicyMapping = skipCerts(1);
  return {
    mappings: (mappings === undefined ? [] : sequenceItems(mappings)).map((pair) => [
      readOid(childAt(pair, 0)),
      readOid(childAt(pair, 1)),
    ]),
    ...(requireExplicitPolicy !== undefined && { requireExplicitPolicy }),
    ...(inhibitPolicyMapping !== undefined && { inhibitPolicyMapping }),
    ...(inhibitAny && { inhibitAnyPolicy: checkCount(readSmallInteger(inhibitAny)) }),
  };
}

/** The content of an INTEGER under an implicit tag. */
function readImplicitCount(content: Uint8Array): number {
  if (content.length === 0 || content.length > 4) return checkCount(content.length === 0 ? -1 : maxCount);
  return checkCount(Buffer.from(content).readIntBE(0, content.length));
}

const maxCount = 0x7fff_ffff;

function checkCount(count: number): number {
  if (count < 0) throw new PkiError('PKI_CERTIFICATE_MALFORMED', 'a negative number of certificates');
  return count;
}
