/**
 * Infrastructure of a deployment: configuration, the database with its migrations, encryption at rest, log,
 * metrics, admission (limits checked before work begins), and helpers for background work (worker loop, node
 * id, token buckets).
 *
 * Storage is one port (Decision 0018): services see typed tables through Kysely, never a driver. Everything
 * durable is rows; there is no other queue. Encryption follows SEC-05 and SEC-06: AES-256-GCM under data
 * keys, which are wrapped by a master key from outside the database.
 *
 * No business rules here. Called by every service and by the composition root.
 */
export { PlatformError, type PlatformErrorCode } from './errors.ts';
export { inWords, orWords } from './storage/literals.ts';
export { openStorage, type StorageOptions } from './storage/open-storage.ts';
export { isDatabaseAway } from './storage/postgres/errors.ts';
export { prepareInsert, prepareRows } from './storage/prepare.ts';
export {
  tablesOf,
  type AnyTransaction,
  type Held,
  type Storage,
  type StorageCounts,
  type StoredValue,
} from './storage/storage.ts';
export {
  compareStorage,
  copyStorage,
  requireCopyable,
  type CopiedTable,
} from './storage/copy/copy-storage.ts';
export { hasSchema } from './storage/sqlite/has-schema.ts';
export { copiedMark, refuseUncopied } from './copied-mark.ts';
export { createLookups, type Lookups } from './storage/lookups.ts';
export { refuseUpdate, type Migration } from './storage/migrate.ts';
export { migrations } from './storage/baseline/index.ts';
export { referenceBytes, storedSize } from './content/reference.ts';
export { createContentStore, type ContentStore } from './content/content-store.ts';
export { decryptStoredValues } from './content/decrypt-stored-values.ts';
export type { EncryptedColumn } from './vault/encrypted-column.ts';
export { createVault, type Vault } from './vault/vault.ts';
export { hasDataKeys, openVault, type StoredVault } from './vault/open-vault.ts';
export {
  loadMasterKey,
  loadMasterKeys,
  masterKeyId,
  parseMasterKey,
  type MasterKey,
} from './vault/master-key.ts';
export { createLog, type LogLevel } from './log/create-log.ts';
export { createMetrics, type LabelledValue, type Metrics } from './metrics/create-metrics.ts';
export { createEmit, type EventTable, type Emit } from './metrics/events.ts';
export { createFaultLog } from './work/fault-log.ts';
export { startFairWorker, type FairWorker } from './work/fair-worker.ts';
export { memoryOfContent, type AttemptVerdict, type FairItem, type FairLimits } from './work/parties.ts';
export {
  createLeases,
  isLeaseLost,
  requireLease,
  type LeaseColumns,
  type Leased,
  type Leases,
} from './work/leases.ts';
export { createDiskGuard, readFreeBytes, type DiskGuard } from './admission/disk-guard.ts';
export { createFairSlots, type FairSlots } from './admission/fair-slots.ts';
export { startRounds, type Rounds } from './work/start-rounds.ts';
export { holdDataDir } from './work/hold-data-dir.ts';
export { holdFile } from './work/hold-file.ts';
export { joinNodes, listLiveNodes, listNodes, type Nodes } from './work/nodes.ts';
export { nodeId } from './work/node-id.ts';
export { loadConfig, readJsonFile } from './config/load-config.ts';
export { readTlsFiles, readSecretFile, useConfiguredFile, type TlsFiles } from './config/configured-files.ts';
export { defaultSettings, type Config } from './config/schema.ts';
export { consoleUrlOf, usualConsolePort } from './config/console-url.ts';
export { clearConsolePort, findConsolePort, noteConsolePort } from './config/running-console.ts';
export { findIgnoredVariables, listSettings, type Setting } from './config/settings.ts';
export { isLoopback } from './config/check-together.ts';
