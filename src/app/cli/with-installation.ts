import { silentLog, systemClock } from '../../core/index.ts';
import { createAudit, type Audit, type AuditEvent } from '../../service/audit/index.ts';
import type { CliContext, Installation } from './context.ts';

/** An installation with its audit trail, so that what a command changes is recorded. */
export interface AuditedInstallation extends Installation {
  readonly audit: Audit;
}

/** Services write `operator` for whoever administers them; a command knows the name. */
function nameOperator(audit: Audit, operator: string): Audit {
  const named = (event: AuditEvent): AuditEvent =>
    event.actor === 'operator' ? { ...event, actor: operator } : event;
  return {
    ...audit,
    record: (event) => audit.record(named(event)),
    recordIn: (tx, event) => audit.recordIn(tx, named(event)),
    recordNow: (event) => audit.recordNow(named(event)),
    alarm: (event) => audit.alarm(named(event)),
  };
}

/** Opens the installation that commands work on, and closes it whatever becomes of the work. */
export async function withInstallation(
  context: CliContext,
  work: (installation: AuditedInstallation) => Promise<void>,
): Promise<void> {
  const operator = context.operator();
  const installation = await context.openInstallation();
  const audit = nameOperator(createAudit({ ...installation, clock: systemClock, log: silentLog }), operator);
  try {
    await work({ ...installation, audit });
  } finally {
    await audit.close();
    await installation.close();
  }
}
