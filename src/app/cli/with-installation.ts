import { silentLog, systemClock } from '../../core/index.ts';
import { createAudit, runFrom, type Audit } from '../../service/audit/index.ts';
import type { CliContext, Installation } from './context.ts';

/** An installation with its audit trail, in which the changes of a command are recorded. */
export interface AuditedInstallation extends Installation {
  readonly audit: Audit;
}

/** Opens the installation that commands work on, and closes it afterwards, also after an error. */
export async function withInstallation(
  context: CliContext,
  work: (installation: AuditedInstallation) => Promise<void>,
): Promise<void> {
  const actor = context.actor();
  const installation = await context.openInstallation();
  const audit = createAudit({ ...installation, clock: systemClock, log: silentLog }).as(actor);
  try {
    await runFrom(context.origin(), () => work({ ...installation, audit }));
  } finally {
    await audit.close();
    await installation.close();
  }
}
