import { codedError, type ErrorTable } from '../core/index.ts';

export const platformErrors = {
  PLATFORM_CONFIG_INVALID: { kind: 'invalid-input' },
  PLATFORM_CONTENT_MISSING: { kind: 'internal' },
  PLATFORM_DATA_DIR_BUSY: { kind: 'conflict' },
  PLATFORM_DISK_LOW: {
    kind: 'unavailable',
    publicMessage: 'The disk is nearly full: new messages are refused until space is free.',
  },
  PLATFORM_INSTALLATION_EXISTS: { kind: 'conflict' },
  PLATFORM_INSTALLATION_MISSING: { kind: 'not-found' },
  PLATFORM_INSTALLATION_UNNAMED: { kind: 'invalid-input' },
  PLATFORM_KEY_FILE_UNUSABLE: { kind: 'internal' },
  PLATFORM_LEASE_LOST: { kind: 'conflict' },
  PLATFORM_MAC_INVALID: { kind: 'internal' },
  PLATFORM_MASTER_KEY_INVALID: { kind: 'internal' },
  PLATFORM_NODE_ID_TAKEN: { kind: 'conflict' },
  PLATFORM_SEAL_BROKEN: { kind: 'internal' },
  PLATFORM_SEAL_KEY_UNKNOWN: { kind: 'unavailable' },
  PLATFORM_STORAGE_BUSY: { kind: 'unavailable' },
  PLATFORM_STORAGE_CLOSED: { kind: 'unavailable' },
  PLATFORM_STORAGE_COPY_DIFFERS: { kind: 'internal' },
  PLATFORM_STORAGE_COPY_REFUSED: { kind: 'conflict' },
  PLATFORM_STORAGE_DUPLICATE: { kind: 'conflict' },
  PLATFORM_STORAGE_EARLIER: { kind: 'internal' },
  PLATFORM_STORAGE_FAILED: { kind: 'internal' },
  PLATFORM_STORAGE_LOCK_LOST: { kind: 'unavailable' },
  PLATFORM_STORAGE_NESTED: { kind: 'internal' },
  PLATFORM_STORAGE_NEWER: { kind: 'internal' },
  PLATFORM_STORAGE_OUTDATED: { kind: 'conflict' },
  PLATFORM_STORAGE_TEXT_INVALID: { kind: 'invalid-input' },
  PLATFORM_STORAGE_UNAVAILABLE: { kind: 'unavailable' },
  PLATFORM_STORAGE_UNSUPPORTED: { kind: 'conflict' },
} as const satisfies ErrorTable;

export type PlatformErrorCode = keyof typeof platformErrors;

/** Errors of the platform. */
export class PlatformError extends codedError(platformErrors) {}
