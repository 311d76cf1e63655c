import type { Certificate } from './certificate.ts';
import { oids } from './oids.ts';
import type { PolicyRules } from './policy-rules.ts';

/**
 * RFC 5280 §6.1.3 (d) to (f), §6.1.4 (a), (b), (h) to (j) and §6.1.5 (a), (b), for any initial policy:
 * returns why the path lacks a valid policy that one of its certificates requires, and which certificate has
 * none; undefined if nothing is missing.
 *
 * `path` is from the end entity to the certificate below the anchor. The tree of the RFC is kept as one
 * level: with any initial policy only its emptiness counts, and a level is empty exactly when the tree is.
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
