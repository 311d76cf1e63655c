import { systemClock } from '../../core/index.ts';
import type { CliContext } from './context.ts';
import type { AuditedInstallation } from './with-installation.ts';

/** Names the addresses of a client or an edge account that are not hosted: their mail is refused. */
export async function noteUnhosted(
  context: CliContext,
  installation: AuditedInstallation,
  addresses: readonly string[],
): Promise<void> {
  if (addresses.length === 0) return;
  const { createTrust, describeUnhosted } = await import('../../service/trust/index.ts');
  const trust = createTrust({ ...installation, clock: systemClock });
  for (const sentence of await describeUnhosted(trust, addresses)) context.note(sentence);
}
