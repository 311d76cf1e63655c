import { codedError, type ErrorTable } from '../../core/index.ts';

export const providerIndexErrors = {
  /** The file is not a snapshot, is of another version, is cut short, or its checksum does not hold. */
  INDEX_SNAPSHOT_INVALID: { kind: 'internal' },
  INDEX_SNAPSHOT_UNWRITABLE: { kind: 'unavailable' },
  /** A record that the index cannot hold, for example an id that is not a non-negative integer. */
  INDEX_RECORD_INVALID: { kind: 'invalid-input' },
  INDEX_QUERY_INVALID: { kind: 'invalid-input' },
  /** The pool has no index yet or is closed. */
  INDEX_NOT_READY: { kind: 'unavailable' },
} as const satisfies ErrorTable;

export class ProviderIndexError extends codedError(providerIndexErrors) {}
