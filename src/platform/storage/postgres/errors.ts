import { PlatformError, type PlatformErrorCode } from '../../errors.ts';

/** SQLSTATE by its beginning; the first that fits decides (PostgreSQL 15, appendix A). */
const codes: readonly (readonly [prefix: string, code: PlatformErrorCode])[] = [
  ['23505', 'PLATFORM_STORAGE_DUPLICATE'],
  ['40001', 'PLATFORM_STORAGE_BUSY'],
  ['40P01', 'PLATFORM_STORAGE_BUSY'],
  ['55P03', 'PLATFORM_STORAGE_BUSY'],
  ['08', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['53', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['57', 'PLATFORM_STORAGE_UNAVAILABLE'],
  // A read-only server: a standby, or a primary that was demoted.
  ['25006', 'PLATFORM_STORAGE_UNAVAILABLE'],
  // The server ended a transaction that was idle for too long.
  ['25P03', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['58', 'PLATFORM_STORAGE_UNAVAILABLE'],
];

// The message of these classes names tables, columns and settings. That of the others may repeat a stored value.
const classesWithPlainMessages: ReadonlySet<string> = new Set([
  '08',
  '0A',
  '25',
  '28',
  '3D',
  '40',
  '42',
  '53',
  '55',
  '57',
  '58',
  'P0',
]);

// After these the whole transaction is run again. 0A000 stands here for a prepared statement whose table was changed by
// a migration of another node: the next run uses a new connection.
const retriedStates: ReadonlySet<string> = new Set(['40001', '40P01']);
const changedPlan = 'cached plan must not change result type';

const sqlStatePattern = /^[0-9A-Z]{5}$/;

interface ServerError extends Error {
  readonly code: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
}

/** Turns an error of the driver into ours. Neither the text nor the cause repeats a stored value or a password. */
export function translatedError(error: unknown): unknown {
  if (error instanceof PlatformError) return error;
  if (isServerError(error)) return fromServer(error);
  if (isConnectionError(error))
    return new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', `PostgreSQL unreachable: ${error.message}`, {
      fields: { isConnectionLost: true },
    });
  return error;
}

/** Runs `work` and turns the driver's errors into ours. */
export async function translated<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw translatedError(error);
  }
}

/** True if running the whole transaction again can work. */
export function isWorthRetry(error: unknown): boolean {
  return error instanceof PlatformError && error.fields['isRetried'] === true;
}

/** True if the connection must not be used again. */
export function breaksConnection(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  const { isConnectionLost, sqlState } = error.fields;
  if (isConnectionLost === true) return true;
  // 25006: another server may be the primary by now.
  return sqlState === '0A000' || (typeof sqlState === 'string' && /^(08|57P|25006|25P03|58)/.test(sqlState));
}

/** True if the connection ended without an answer of the server, so that whether a statement took effect is unknown. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof PlatformError && error.fields['isConnectionLost'] === true;
}

/** True if a lock was not acquired within the time for it. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof PlatformError && error.fields['sqlState'] === '55P03';
}

function fromServer(error: ServerError): PlatformError {
  const { code: sqlState, table, column, constraint } = error;
  const found = codes.find(([prefix]) => sqlState.startsWith(prefix));
  const places = Object.entries({ table, column, constraint }).flatMap(([what, name]) =>
    name === undefined ? [] : [`${what} ${name}`],
  );
  const text = classesWithPlainMessages.has(sqlState.slice(0, 2)) ? [error.message] : [];
  return new PlatformError(
    found?.[1] ?? 'PLATFORM_STORAGE_FAILED',
    `PostgreSQL refused (${[`SQLSTATE ${sqlState}`, ...places, ...text].join(', ')})`,
    {
      fields: {
        sqlState,
        isRetried: retriedStates.has(sqlState) || (sqlState === '0A000' && error.message === changedPlan),
      },
    },
  );
}

function isServerError(error: unknown): error is ServerError {
  return (
    error instanceof Error &&
    'severity' in error &&
    'code' in error &&
    sqlStatePattern.test(String(error.code))
  );
}

// The driver reports a lost connection as a system error or as a plain Error, distinguished by its text alone.
const connectionTexts =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout e(xceeded|xpired)|Query read timeout|The server does not support SSL|Cannot use a pool after)/;

function isConnectionError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    ('syscall' in error && 'code' in error) ||
    error instanceof AggregateError ||
    connectionTexts.test(error.message)
  );
}
