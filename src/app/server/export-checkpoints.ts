import { errorCode, errorText, type Clock, type Log } from '../../core/index.ts';
import type { GuardedFetch } from '../../lib/fetch/index.ts';
import type { Storage } from '../../platform/index.ts';
import {
  appendToCheckpointFile,
  AuditError,
  readCheckpointFile,
  readStatement,
  statementTypes,
  type Checkpoint,
  type SignedCheckpoint,
} from '../../service/audit/index.ts';
import type { DegradedComponent } from '../http/index.ts';
import { beginInstallationIntegrity, type InstallationIntegrity } from './begin-integrity.ts';

export interface CheckpointExport {
  /** Signs the end of the audit chain, if it has moved, and hands the newest checkpoint out. */
  run(): Promise<void>;
  /** The same without waiting for the interval; called last before the service stops. */
  finish(): Promise<void>;
  /** A chain that is broken, or a receiver that does not answer, for the readiness details. */
  degraded(): readonly DegradedComponent[];
}

export interface CheckpointExportOptions extends InstallationIntegrity {
  readonly storage: Storage;
  readonly log: Log;
  readonly clock: Clock;
  readonly post: GuardedFetch;
}

/**
 * Checkpoints that wait for a receiver that does not answer; of more, the oldest go, since each covers those
 * before it.
 */
const maxWaiting = 100;

/**
 * Hands checkpoints of the audit chain to where somebody who can write to the database cannot change them: a
 * file of this node, the log, and a receiver of the operator's (Decision 0024).
 */
export function createCheckpointExport(options: CheckpointExportOptions): CheckpointExport {
  const { config, storage, audit, log, post } = options;
  const { checkpointFile, checkpointSeconds, checkpointUrl } = config.audit;
  let waiting: readonly SignedCheckpoint[] = [];
  let problem: string | undefined;

  async function exportNewest(leastAgeMs: number): Promise<void> {
    await beginInstallationIntegrity(options);
    const signed = await storage.tryRunExclusive('audit-checkpoint', () =>
      audit.signCheckpoint({ leastAgeMs }),
    );
    const newest = await audit.lastCheckpoint();
    if (newest !== undefined) await keep(newest);
    if (checkpointUrl === undefined) return;
    waiting = [...waiting, ...(signed?.result === undefined ? [] : [signed.result])].slice(-maxWaiting);
    while (waiting[0] !== undefined) {
      await send(checkpointUrl, waiting[0]);
      waiting = waiting.slice(1);
    }
  }

  async function keep(newest: SignedCheckpoint): Promise<void> {
    const known = (await readCheckpointFile(checkpointFile)).at(-1);
    if (known === newest.statement) return;
    if (known !== undefined) await requireLater(known, newest.checkpoint);
    await appendToCheckpointFile(checkpointFile, newest.statement);
    const { sequence, hash } = newest.checkpoint.last;
    log.info({ sequence, hash, statement: newest.statement }, 'audit checkpoint');
  }

  async function requireLater(known: string, newest: Checkpoint): Promise<void> {
    const { x } = await audit.readPublicKey();
    const own = await readStatement<Checkpoint>(
      statementTypes.checkpoint,
      known,
      Buffer.from(x, 'base64url'),
    ).catch((cause: unknown) => {
      throw new AuditError(
        'AUDIT_STATEMENT_INVALID',
        `the last line of ${checkpointFile} is ${errorText(cause)}. If it was cut, remove it: the newest checkpoint is written again`,
        { cause },
      );
    });
    if (own.chain === newest.chain && own.last.sequence <= newest.last.sequence) return;
    throw new AuditError(
      'AUDIT_CHAIN_BROKEN',
      `the database has an earlier audit chain than ${checkpointFile}: event ${own.last.sequence} is missing. After a restore from a backup: openhisp audit restart`,
      { fields: { sequence: own.last.sequence } },
    );
  }

  async function send(url: string, { statement }: SignedCheckpoint): Promise<void> {
    const headers = { 'content-type': 'application/jose' };
    const { status } = await post(url, { method: 'POST', headers, body: statement });
    if (status < 200 || status > 299)
      throw new RangeError(`audit.checkpointUrl answered ${status}; the checkpoint is sent again`);
  }

  /** A failure stands in the readiness details until the export works again; the timer logs it. */
  async function watched(work: Promise<void>): Promise<void> {
    try {
      await work;
      problem = undefined;
    } catch (error) {
      if (problem === undefined && error instanceof AuditError)
        audit.alarm({
          action: 'audit.verify',
          actor: 'system',
          outcome: 'failed',
          objects: { code: errorCode(error) },
        });
      problem = errorText(error);
      throw error;
    }
  }

  return {
    run: () => watched(exportNewest(checkpointSeconds * 900)),
    finish: () => watched(exportNewest(0)),
    degraded: () => (problem === undefined ? [] : [{ part: 'audit', detail: problem }]),
  };
}
