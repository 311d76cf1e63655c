import type { Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { VerificationTables } from './tables.ts';

export interface SwitchDependencies {
  readonly storage: Storage;
  readonly audit: Pick<Audit, 'recordIn'>;
}

/** Starts or pauses verification on all nodes; they follow within seconds. Work in progress is stored. */
export async function setRunning({ storage, audit }: SwitchDependencies, isRunning: boolean): Promise<void> {
  await storage.transaction<VerificationTables, void>(async (tx) => {
    await tx
      .updateTable('verification_state')
      .set({ is_running: isRunning ? 1 : 0, changed_at: storage.clock.now().getTime() })
      .execute();
    await audit.recordIn(tx, {
      action: isRunning ? 'verification.start' : 'verification.pause',
      actor: 'operator',
      outcome: 'ok',
    });
  });
}

export async function isRunning(storage: Storage): Promise<boolean> {
  const row = await storage
    .tables<VerificationTables>()
    .selectFrom('verification_state')
    .select('is_running')
    .executeTakeFirstOrThrow();
  return row.is_running === 1;
}
