import { codedError, errorCode, type ErrorTable, type FieldProblem } from '../../core/index.ts';

export const directoryErrors = {
  DIRECTORY_QUERY_INVALID: { kind: 'invalid-input' },
  DIRECTORY_CENTER_NOT_FOUND: { kind: 'invalid-input' },
  DIRECTORY_NPI_NOT_FOUND: {
    kind: 'not-found',
    publicMessage: 'No provider record has this NPI.',
  },
  DIRECTORY_RECORD_UNKNOWN: { kind: 'not-found', publicMessage: 'No record has this id.' },
  DIRECTORY_RESOURCE_NOT_FOUND: { kind: 'not-found', publicMessage: 'No resource has this id.' },
  DIRECTORY_EXPORT_CHANGED: {
    kind: 'not-found',
    publicMessage: 'The open sources have changed since this export began; start a new one.',
  },
  DIRECTORY_EXPORT_BUSY: { kind: 'rate-limited', publicMessage: 'Too many exports are being written.' },
  DIRECTORY_DATA_USE_NOT_ACCEPTED: {
    kind: 'forbidden',
    publicMessage:
      'The operator has not recorded that this client accepts the data-use rule of the directory.',
  },
  DIRECTORY_RATE_LIMITED: {
    kind: 'rate-limited',
    publicMessage: 'Too many directory requests in a short time.',
  },
  DIRECTORY_QUOTA_USED: {
    kind: 'rate-limited',
    publicMessage: 'The daily limit of directory records is reached.',
  },
  /** Nobody gets it: the client did not wait for the answer. */
  DIRECTORY_ABANDONED: { kind: 'unavailable', publicMessage: 'The connection was closed.' },
  DIRECTORY_NOT_READY: { kind: 'unavailable', publicMessage: 'The directory is being loaded.' },
  DIRECTORY_LOAD_RUNNING: { kind: 'conflict', publicMessage: 'Another load of the directory is running.' },
  DIRECTORY_FILE_UNREADABLE: { kind: 'invalid-input' },
  DIRECTORY_FORMAT_UNKNOWN: { kind: 'invalid-input' },
  DIRECTORY_FILE_BROKEN: { kind: 'invalid-input' },
  DIRECTORY_RELEASE_INVALID: { kind: 'invalid-input' },
  DIRECTORY_RELEASE_PARTIAL: { kind: 'invalid-input' },
  DIRECTORY_RELEASE_CHANGED: { kind: 'conflict' },
  DIRECTORY_DOWNLOAD_FAILED: { kind: 'unavailable' },
  DIRECTORY_DISK_LOW: { kind: 'unavailable' },
  DIRECTORY_UPLOAD_TOO_LARGE: { kind: 'too-large' },
  DIRECTORY_UPLOAD_BROKEN: { kind: 'invalid-input' },
  DIRECTORY_UPLOAD_BUSY: {
    kind: 'rate-limited',
    publicMessage: 'Other uploads are being received or loaded; try again when they have ended.',
  },
  DIRECTORY_TOO_MANY_REFUSED: { kind: 'invalid-input' },
  DIRECTORY_TOO_MANY_LOST: { kind: 'invalid-input' },
  DIRECTORY_NOTHING_TO_ROLL_BACK: { kind: 'conflict' },
  DIRECTORY_SOURCE_CHANGED: {
    kind: 'conflict',
    publicMessage: 'Another load of this source is active by now. Look at the source before you roll back.',
  },
  DIRECTORY_LOAD_UNKNOWN: { kind: 'not-found' },
  DIRECTORY_SOURCE_UNKNOWN: { kind: 'not-found' },
  DIRECTORY_SOURCE_INVALID: { kind: 'invalid-input' },
  DIRECTORY_RECORD_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export type DirectoryErrorCode = keyof typeof directoryErrors;

/** Errors of the directory. A query's problems name the parameter of the request. */
export class DirectoryError extends codedError(directoryErrors) {}

/**
 * True for a load that was refused only because much would be lost: it may be repeated with accepted loss.
 */
export function isRefusedLoss(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'DIRECTORY_TOO_MANY_REFUSED' || code === 'DIRECTORY_TOO_MANY_LOST';
}

/** The error for a query with one or more faulty parameters. */
export function invalidQuery(problems: readonly FieldProblem[]): DirectoryError {
  const names = [...new Set(problems.map((problem) => problem.field))].join(', ');
  return new DirectoryError('DIRECTORY_QUERY_INVALID', `Invalid parameters: ${names}`, { problems });
}
