import { resolveRecipient, type RecipientTrust } from '../../lib/direct/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type { ValidatedPath } from '../../lib/pki/index.ts';
import type { RefusedRecipient, ResolvedRecipients, UsableRecipient } from './agent.ts';

// A message may name fifty recipients; their discovery is mostly waiting.
const maxAtOnce = 10;

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
          findings: result.certificates.map((path) => ({
            fingerprint: path.certificates[0].fingerprint,
            anchor: path.anchor.fingerprint,
          })),
        });
      } else {
        const { code, reason, statusCode, text, isTransient } = result;
        const findings = result.refused.map((one) => ({ fingerprint: one.fingerprint, code: one.code }));
        refused.push({ recipient: address, code, reason, statusCode, text, isTransient, findings });
      }
    }
  });
  await Promise.all(workers);
  return { usable, refused };
}
