import type { Closable } from '../../core/index.ts';
import type { CoreServices } from './open-core-services.ts';

/**
 * Records in the audit trail that this node serves, and when it ends: from these rows `evidence pack` counts
 * the time in service. After a crash, the next start names the last heartbeat.
 */
export function createServiceLog({ audit, nodes }: Pick<CoreServices, 'audit' | 'nodes'>): Closable {
  const record = (action: string, more: Readonly<Record<string, string>> = {}): Promise<void> =>
    audit.record({ action, actor: 'system', outcome: 'ok', objects: { node: nodes.id, ...more } });
  const { lostAt } = nodes;
  void record('service.start', lostAt === undefined ? {} : { lostAt: lostAt.toISOString() });
  return { close: () => record('service.stop') };
}
