import type { Audit } from './create-audit.ts';
import type { AuditEvent } from './audit-event.ts';

/** The same audit trail on behalf of one operator: services write `operator` as the actor. */
export function nameOperator(audit: Audit, operator: string): Audit {
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
