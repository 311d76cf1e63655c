import {
  childAt,
  contentBytes,
  isContext,
  readOid,
  readSmallInteger,
  sequenceItems,
  type Asn1,
} from '../asn1/index.ts';
import type { Certificate } from './certificate.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';

/** What a certificate says about the policies of the path below it (RFC 5280 §4.2.1.5, §4.2.1.11, §4.2.1.14). */
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

/**
 * RFC 5280 §6.1.3 (d) to (f), §6.1.4 (a), (b), (h) to (j) and §6.1.5 (a), (b), for any initial policy: returns why the path lacks a
 * valid policy that one of its certificates requires, and which certificate has none; undefined if nothing is missing.
 *
 * `path` is from the end entity to the certificate below the anchor. The tree of the RFC is kept as one level: with any
 * initial policy only its emptiness counts, and a level is empty exactly when the tree is.
 */
export function findPolicyFault(
  path: readonly Certificate[],
): { readonly certificate: Certificate; readonly text: string } | undefined {
  const certificates = path.toReversed();
  const start = certificates.length + 1;
  let [explicitPolicy, inhibitMapping, inhibitAny] = [start, start, start];
  /** Valid policies with what is expected of the next certificate. */
  let level: ReadonlyMap<string, ReadonlySet<string>> = new Map([
    [oids.anyPolicy, new Set([oids.anyPolicy])],
  ]);
  for (const [index, certificate] of certificates.entries()) {
    const isLast = index === certificates.length - 1;
    const isPassing = certificate.isSelfIssued && !isLast;
    level = narrow(level, certificate.policyOids, inhibitAny > 0 || isPassing);
    const { mappings, ...rules } = certificate.policyRules;
    if (isLast && (rules.requireExplicitPolicy === 0 || explicitPolicy === 1)) explicitPolicy = 0;
    if (explicitPolicy === 0 && level.size === 0)
      return { certificate, text: 'no policy that is valid on its path, which requires one' };
    if (isLast) return undefined;
    if (mappings.some((pair) => pair.includes(oids.anyPolicy)))
      return { certificate, text: 'a policy mapping to or from any policy' };
    level = map(level, mappings, inhibitMapping > 0);
    if (!certificate.isSelfIssued) {
      explicitPolicy = Math.max(0, explicitPolicy - 1);
      inhibitMapping = Math.max(0, inhibitMapping - 1);
      inhibitAny = Math.max(0, inhibitAny - 1);
    }
    explicitPolicy = Math.min(explicitPolicy, rules.requireExplicitPolicy ?? explicitPolicy);
    inhibitMapping = Math.min(inhibitMapping, rules.inhibitPolicyMapping ?? inhibitMapping);
    inhibitAny = Math.min(inhibitAny, rules.inhibitAnyPolicy ?? inhibitAny);
  }
  return undefined;
}

type PolicyLevel = ReadonlyMap<string, ReadonlySet<string>>;

/** §6.1.3 (d), (e): the policies of the certificate that its issuer expects. */
function narrow(level: PolicyLevel, policies: readonly string[], allowsAny: boolean): PolicyLevel {
  const expected = new Set([...level.values()].flatMap((values) => [...values]));
  const next = new Map<string, ReadonlySet<string>>();
  for (const policy of policies)
    if (policy !== oids.anyPolicy && (expected.has(policy) || level.has(oids.anyPolicy)))
      next.set(policy, new Set([policy]));
  if (policies.includes(oids.anyPolicy) && allowsAny)
    for (const policy of expected) if (!next.has(policy)) next.set(policy, new Set([policy]));
  return next;
}

/** §6.1.4 (b). */
function map(level: PolicyLevel, mappings: PolicyRules['mappings'], isAllowed: boolean): PolicyLevel {
  if (mappings.length === 0) return level;
  const next = new Map(level);
  const targets = Map.groupBy(mappings, ([issuer]) => issuer);
  for (const [policy, pairs] of targets) {
    if (!isAllowed) next.delete(policy);
    else if (level.has(policy) || level.has(oids.anyPolicy))
      next.set(policy, new Set(pairs.map(([, subject]) => subject)));
  }
  return next;
}
