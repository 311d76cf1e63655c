import { CodedError, errorText, isNoSocketCode } from '../../../core/index.ts';
import type { DnsResolver } from '../../dns/index.ts';
import { findLdapTargets, type LdapAttempt, type LdapClient, type LdapTarget } from '../../ldap/index.ts';
import { findPublishedCertificates } from '../find-certificate.ts';
import type { SourceAnswer } from './steps.ts';

/** LDAP gives no lifetime; its answers are kept this long. */
const ldapTtlSeconds = 900;

/**
 * The LDAP servers of one domain, which are looked up once and then asked for the address and for the domain.
 */
export interface LdapSource {
  ask(mail: string): Promise<SourceAnswer>;
}

export interface LdapDependencies {
  readonly dns: Pick<DnsResolver, 'resolveSrv'>;
  readonly ldap: LdapClient;
}

/** DISC-06 to DISC-08. Throws `DNS_NO_SOCKET` and `LDAP_NO_SOCKET`, but never for failures of servers. */
export function createLdapSource(domain: string, { dns, ldap }: LdapDependencies): LdapSource {
  let targets: Promise<readonly LdapTarget[]> | undefined;
  return {
    async ask(mail) {
      const query = `_ldap._tcp.${domain} mail=${mail}`;
      try {
        const all = await (targets ??= findLdapTargets(domain, dns));
        if (all.length === 0)
          return { ...nothing, outcome: 'absent', query, detail: 'no LDAP server is announced' };
        const answer = await ldap.findCertificates({ targets: all, mail });
        // The next query goes to the server that answered, not again to those that do not.
        targets = Promise.resolve(answeringTargets(all, answer.attempts));
        return { ...readAnswer(answer), query };
      } catch (error) {
        // Whoever cannot ask knows nothing about the place.
        if (!(error instanceof CodedError) || isNoSocketCode(error.code)) throw error;
        return {
          ...nothing,
          outcome: error.isTransient ? 'unavailable' : 'absent',
          query,
          detail: errorText(error),
        };
      }
    },
  };
}

const nothing = { certificates: [], unreadableCount: 0, ttlSeconds: 0 } as const;

function answeringTargets(
  all: readonly LdapTarget[],
  attempts: readonly LdapAttempt[],
): readonly LdapTarget[] {
  const failed = attempts.filter((attempt) => attempt.outcome === 'unreachable').length;
  return failed === all.length ? all : all.slice(failed);
}

function readAnswer(
  answer: Awaited<ReturnType<LdapClient['findCertificates']>>,
): Omit<SourceAnswer, 'query'> {
  const last = answer.attempts.at(-1);
  const via = last === undefined ? {} : { via: `${last.target.host}:${last.target.port}` };
  const detail =
    answer.attempts.length > 1 || last?.detail !== undefined ? { detail: describe(answer.attempts) } : {};
  if (answer.status === 'unreachable') return { ...nothing, outcome: 'unavailable', ...detail };
  const values = answer.certificates.map(findPublishedCertificates);
  const certificates = values.flat();
  return {
    outcome: answer.status,
    certificates,
    unreadableCount: values.filter(({ length }) => length === 0).length,
    ttlSeconds: ldapTtlSeconds,
    ...via,
    ...detail,
    ...(answer.isIncomplete && { isIncomplete: true }),
  };
}

function describe(attempts: readonly LdapAttempt[]): string {
  return attempts
    .map(
      ({ target, outcome, detail }) =>
        `${target.host}:${target.port} ${outcome}${detail === undefined ? '' : ` (${detail})`}`,
    )
    .join('; ');
}
