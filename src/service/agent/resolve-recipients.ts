import { resolveRecipient, type RecipientTrust, type RefusedCertificate } from '../../lib/direct/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type { ValidatedPath } from '../../lib/pki/index.ts';
import type {
  CertificateFinding,
  PathCertificate,
  RefusedRecipient,
  ResolvedRecipients,
  UsableRecipient,
} from './agent.ts';

// A message may name fifty recipients; their discovery is mostly waiting.
const maxAtOnce = 10;

/** Refused certificates that are kept with an attempt. */
const maxRefused = 8;

function toFinding(one: RefusedCertificate, place: Place): CertificateFinding {
  const { fingerprint, code, subject, issuer, notBefore, notAfter, text, failedAt } = one;
  return {
    fingerprint,
    ...place,
    code,
    refused: {
      subject,
      issuer,
      notBefore: notBefore.toISOString(),
      notAfter: notAfter.toISOString(),
      text,
      ...(failedAt !== undefined && { failedAt }),
    },
  };
}

type Discovered = Pick<Awaited<ReturnType<typeof resolveRecipient>>, 'source' | 'isFromCache'>;
type Place = Pick<CertificateFinding, 'source' | 'isCached'>;

const placeOf = ({ source, isFromCache }: Discovered): Place => ({
  ...(source && { source }),
  ...(isFromCache && { isCached: true }),
});

function listOnce(paths: readonly ValidatedPath[]): readonly PathCertificate[] {
  const all = paths.flatMap(({ certificates }) => certificates);
  return [...new Map(all.map(({ fingerprint, der }) => [fingerprint, { fingerprint, der }])).values()];
}

/** Resolves all recipients, some at a time, and sorts them into usable and refused ones. */
export async function resolveAll(
  recipients: readonly DirectAddress[],
  trust: RecipientTrust & { readonly onPath: (address: DirectAddress, path: ValidatedPath) => void },
): Promise<ResolvedRecipients> {
  const usable: UsableRecipient[] = [];
  const refused: RefusedRecipient[] = [];
  const queue = recipients.values();
  const workers = Array.from({ length: Math.min(maxAtOnce, recipients.length) }, async () => {
    for (const address of queue) {
      const result = await resolveRecipient(address, trust);
      if (result.outcome === 'usable') {
        for (const path of result.certificates) trust.onPath(address, path);
        usable.push({
          address,
          certificates: result.certificates.map((path) => path.certificates[0].der),
          pathCertificates: listOnce(result.certificates),
          findings: result.certificates.map((path) => ({
            fingerprint: path.certificates[0].fingerprint,
            ...placeOf(result),
            anchor: path.anchor.fingerprint,
            ...(path.certificates.length > 2 && {
              via: path.certificates.slice(1, -1).map(({ fingerprint }) => fingerprint),
            }),
          })),
        });
      } else {
        const { code, reason, statusCode, text, isTransient } = result;
        const findings = result.refused.slice(0, maxRefused).map((one) => toFinding(one, placeOf(result)));
        refused.push({ recipient: address, code, reason, statusCode, text, isTransient, findings });
      }
    }
  });
  await Promise.all(workers);
  return { usable, refused };
}
