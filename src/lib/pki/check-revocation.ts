import type { Certificate } from './certificate.ts';
import { refusal } from './check-certificate.ts';
import { nameCertificate, shortName } from './name-certificate.ts';
import type { PathWarning, Revocation, RevocationQuery } from './revocation.ts';
import type { TrustPolicy } from './trust-policy.ts';
import type { ValidationBudget } from './validation-budget.ts';

interface PathRevocation {
  readonly revocation: readonly Revocation[];
  readonly warnings: readonly PathWarning[];
}

interface RevocationRules {
  readonly at: Date;
  readonly policy: TrustPolicy;
  readonly checkRevocation: ((query: RevocationQuery) => Promise<Revocation>) | undefined;
  readonly pool: readonly Certificate[];
  readonly isCertified: NonNullable<RevocationQuery['isCertified']>;
  readonly budget: ValidationBudget;
}

/**
 * Asks for each certificate below the anchor whether its issuer has revoked it (TRUST-06). The anchor itself
 * is trusted by configuration, not by a list. Errors: `PKI_REVOKED`; with hard-fail `PKI_REVOCATION_UNKNOWN`
 * or `PKI_REVOCATION_UNCHECKABLE`; `PKI_FETCH_LIMIT` under any policy, since a sender that uses the budget up
 * must not make its own certificate pass unchecked.
 */
export async function checkPathRevocation(
  path: readonly Certificate[],
  rules: RevocationRules,
): Promise<PathRevocation> {
  const { policy } = rules;
  if (policy.revocation === 'off') return { revocation: [], warnings: [] };
  const links = path.slice(0, -1);
  const answers = await Promise.all(
    links.map((certificate, index) => askFor(certificate, path[index + 1], rules)),
  );
  const warnings: PathWarning[] = [];
  for (const [index, answer] of answers.entries()) {
    const certificate = links[index];
    if (certificate === undefined) continue;
    if (answer.status === 'revoked')
      throw refusal('PKI_REVOKED', certificate, `revoked: ${answer.reason ?? 'no reason given'}`);
    if (answer.status === 'unknown') {
      if (policy.revocation === 'hard-fail') throw unknownRefusal(certificate, answer);
      warnings.push({
        code: answer.code ?? 'PKI_REVOCATION_UNKNOWN',
        text: `${nameCertificate(certificate)}: ${answer.reason ?? 'revocation unknown'}`,
      });
    }
    if (answer.isOverdue === true)
      warnings.push({
        code: 'PKI_CRL_STALE',
        text: `${nameCertificate(certificate)}: CRL ${shortName(answer.crlUrl ?? '')} is past its next update`,
      });
  }
  return { revocation: answers, warnings };
}

async function askFor(
  certificate: Certificate,
  issuer: Certificate | undefined,
  rules: RevocationRules,
): Promise<Revocation> {
  const { checkRevocation, at, budget, isCertified } = rules;
  if (checkRevocation === undefined || issuer === undefined) {
    return {
      status: 'unknown',
      code: 'PKI_REVOCATION_UNCHECKABLE',
      reason: 'no revocation source',
      isTransient: false,
    };
  }
  return checkRevocation({ certificate, issuer, candidates: rules.pool, at, budget, isCertified });
}

function unknownRefusal(certificate: Certificate, answer: Revocation): Error {
  const code = answer.isTransient === true ? 'PKI_REVOCATION_UNKNOWN' : 'PKI_REVOCATION_UNCHECKABLE';
  return refusal(code, certificate, answer.reason ?? 'revocation unknown');
}
