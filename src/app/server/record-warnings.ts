import { createGrowingCache, type Clock, type Log } from '../../core/index.ts';
import type { TrustWarning } from '../../service/agent/index.ts';
import type { Audit } from '../../service/audit/index.ts';

const dayMs = 86_400_000;
const maxIssuers = 10_000;

/**
 * Records trust problems for which no message is refused, such as a CRL that cannot be fetched: once per
 * issuer and day, however many messages are concerned.
 */
export function createWarningRecorder({
  audit,
  clock,
  log,
}: {
  readonly audit: Pick<Audit, 'record'>;
  readonly clock: Clock;
  readonly log: Log;
}): (warning: TrustWarning) => void {
  const recordedAt = createGrowingCache<number>(maxIssuers);
  return ({ address, code, fingerprint, issuer }) => {
    const now = clock.now().getTime();
    const subject = `${code} ${issuer}`;
    if (now - (recordedAt.get(subject) ?? -Infinity) < dayMs) return;
    recordedAt.set(subject, now);
    const objects = { address, code, fingerprint, issuer };
    log.warn(objects, 'a certificate is trusted with a warning; said once a day per issuer');
    void audit.record({ action: 'trust.warning', outcome: 'ok', objects });
  };
}
