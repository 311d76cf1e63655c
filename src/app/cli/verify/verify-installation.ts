import { errorCode, errorText, systemClock } from '../../../core/index.ts';
import {
  createContentStore,
  decryptStoredValues,
  PlatformError,
  type Config,
} from '../../../platform/index.ts';
import { auditEncryptedColumns, readCheckpointFile } from '../../../service/audit/index.ts';
import { deliveryEncryptedColumns } from '../../../service/delivery/index.ts';
import { findDirectoryFaults } from '../../../service/directory/index.ts';
import { findChangedRows } from '../../../service/integrity/index.ts';
import { messagingEncryptedColumns } from '../../../service/messaging/index.ts';
import { trustEncryptedColumns } from '../../../service/trust/index.ts';
import { webhookEncryptedColumns } from '../../../service/webhook/index.ts';
import { guardedTables } from '../../server/index.ts';
import type { AuditedInstallation } from '../with-installation.ts';

/** A finding of `openhisp verify`. */
export interface VerifyFinding {
  readonly check: 'database' | 'audit' | 'rows' | 'vault' | 'directory';
  readonly isIntact: boolean;
  /** One sentence. */
  readonly text: string;
  /** Advice; empty if there is nothing to do. */
  readonly advice: string;
}

/** All columns that the vault encrypts. */
export const encryptedColumns = [
  ...auditEncryptedColumns,
  ...trustEncryptedColumns,
  ...webhookEncryptedColumns,
  ...deliveryEncryptedColumns,
  ...messagingEncryptedColumns,
];

/** Faults of one kind that are listed one by one. */
const maxListed = 100;

/** Examines everything that is stored. It changes nothing, and may run next to the server. */
export async function verifyInstallation(
  installation: AuditedInstallation,
  namedCheckpoints: readonly string[],
): Promise<readonly VerifyFinding[]> {
  const { config } = installation;
  return [
    ...(await attempt('database', () => verifyDatabase(installation))),
    ...(await attempt('audit', () => verifyAudit(installation, namedCheckpoints))),
    ...(await attempt('rows', () => verifyRows(installation))),
    ...(await attempt('vault', () => verifyVault(installation))),
    ...(await attempt('directory', () => findStoredFaults(installation, config))),
  ];
}

type Check = VerifyFinding['check'];

async function attempt(
  check: Check,
  work: () => Promise<readonly VerifyFinding[]>,
): Promise<readonly VerifyFinding[]> {
  try {
    return await work();
  } catch (error) {
    return [fault(check, `${errorCode(error)}: ${errorText(error)}`, advices[check])];
  }
}

const advices: Readonly<Record<Check, string>> = {
  database:
    'Stop the service, keep a copy of the file, and restore the last backup that passes "openhisp verify".',
  audit:
    'Keep a copy of the database. Find out who can write to it, and compare with the last backup and with the checkpoints that you keep elsewhere. After a restore from a backup: openhisp audit restart --reason TEXT',
  rows: 'Find out who wrote it. If the row is correct: openhisp verify --accept TABLE:ROW --reason TEXT. If not: remove it, and create it again with the command for it.',
  vault:
    'It was changed or its data key was deleted. Restore it from a backup, or import it again if it is a key.',
  directory:
    'Load the directory again (openhisp directory import); delete a damaged snapshot; the server creates a new one.',
};

async function verifyDatabase({ storage }: AuditedInstallation): Promise<readonly VerifyFinding[]> {
  try {
    await storage.verify();
  } catch (error) {
    if (!(error instanceof PlatformError && error.code === 'PLATFORM_STORAGE_UNSUPPORTED')) throw error;
    return [intact('database', 'PostgreSQL examines its own files: pg_amcheck, pg_checksums.')];
  }
  return [intact('database', 'The database file is intact.')];
}

async function verifyAudit(
  { audit, config }: AuditedInstallation,
  namedCheckpoints: readonly string[],
): Promise<readonly VerifyFinding[]> {
  const own = await readCheckpointFile(config.audit.checkpointFile);
  const result = await audit.verifyChain([...own, ...namedCheckpoints]);
  if (result.coveredTo === undefined)
    return [fault('audit', 'The last checkpoint of the audit chain is missing.', advices.audit)];
  return [
    intact(
      'audit',
      `${result.eventCount} audit events, compared with ${result.checkpointCount} checkpoints up to event ${result.coveredTo}.`,
    ),
  ];
}

async function verifyRows({ storage, vault }: AuditedInstallation): Promise<readonly VerifyFinding[]> {
  const { rowCount, changed } = await findChangedRows(storage.db, vault, guardedTables);
  if (changed.length === 0) return [intact('rows', `${rowCount} security rows carry a valid MAC.`)];
  return limited(
    changed.map(({ table, row, isWithoutMac }) =>
      fault(
        'rows',
        `${table}:${row} ${isWithoutMac ? 'has no MAC: it was not written by this service' : 'was changed'}.`,
        advices.rows,
      ),
    ),
  );
}

async function verifyVault({ storage, vault }: AuditedInstallation): Promise<readonly VerifyFinding[]> {
  const contents = createContentStore({ storage, vault, clock: systemClock });
  const { openedCount, broken } = await decryptStoredValues({ storage, contents, columns: encryptedColumns });
  if (broken.length === 0) return [intact('vault', `${openedCount} encrypted values can be decrypted.`)];
  return limited(
    broken.map(({ table, row, column, code }) =>
      fault('vault', `${table}:${row} ${column} cannot be decrypted (${code}).`, advices.vault),
    ),
  );
}

async function findStoredFaults(
  { storage }: AuditedInstallation,
  config: Config,
): Promise<readonly VerifyFinding[]> {
  const result = await findDirectoryFaults(storage, config.directory.snapshotDir);
  if (result.faults.length > 0)
    return limited(result.faults.map((text) => fault('directory', text, advices.directory)));
  return [
    intact(
      'directory',
      `${result.recordCount} directory records and ${result.snapshotCount} snapshots are whole.`,
    ),
  ];
}

function limited(faults: readonly VerifyFinding[]): readonly VerifyFinding[] {
  const [first] = faults;
  if (first === undefined || faults.length <= maxListed) return faults;
  const more = fault(first.check, `${faults.length - maxListed} more.`, first.advice);
  return [...faults.slice(0, maxListed), more];
}

function intact(check: Check, text: string): VerifyFinding {
  return { check, isIntact: true, text, advice: '' };
}

function fault(check: Check, text: string, advice: string): VerifyFinding {
  return { check, isIntact: false, text, advice };
}
