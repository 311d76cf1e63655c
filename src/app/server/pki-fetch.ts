import { systemClock } from '../../core/index.ts';
import {
  createGuardedFetch,
  followRetryAfter,
  type GuardedFetch,
  type TargetOptions,
} from '../../lib/fetch/index.ts';

const timeoutMs = 10_000;
/** Bundles and lists of revoked certificates are the largest. */
const maxBytes = 20_000_000;
/** Their publishers move files to other hosts and leave redirects behind. */
const maxRedirects = 3;

/**
 * The fetch for what certificates and operators name: issuers, lists of revoked certificates, certificates
 * behind DNS records, bundles. Redirects are followed: what comes by http is signed (an unsigned bundle is
 * not fetched by http), and an https host answers for where it sends us. Each target is checked like the
 * first one, and none leads from https to http. A server that asks for time gets it (Retry-After).
 */
export function createPkiFetch(target: TargetOptions): GuardedFetch {
  return followRetryAfter(createGuardedFetch({ ...target, timeoutMs, maxBytes, maxRedirects }), systemClock);
}
