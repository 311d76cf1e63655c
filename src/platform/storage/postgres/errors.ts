import { CodedError } from '../../../core/index.ts';
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
  // The sign-in is refused, or the database is missing: an operator changes something there.
  ['28', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['3D', 'PLATFORM_STORAGE_UNAVAILABLE'],
  // The server ended a transaction that was idle for too long.
  ['25P03', 'PLATFORM_STORAGE_UNAVAILABLE'],
  ['58', 'PLATFORM_STORAGE_UNAVAILABLE'],
];

// The message of these classes names tables, columns and settings. That of the others may repeat a stored
// value.
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

// After these the whole transaction is run again. 0A000 stands here for a prepared statement whose table was
// changed by a migration of another node: the next run uses a new connection.
const retriedStates: ReadonlySet<string> = new Set(['40001', '40P01']);
const changedPlan = 'cached plan must not change result type';

const sqlStatePattern = /^[0-9A-Z]{5}$/;

interface ServerError extends Error {
  readonly code: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
}

/**
 * Turns an error of the driver into ours. Neither the text nor the cause repeats a stored value or a
 * password.
 */
export function translatedError(error: unknown): unknown {
  if (error instanceof PlatformError) return error;
  if (isServerError(error)) return fromServer(error);
  const text = describeConnectionError(error);
  if (text === undefined) return error;
  const isAway = text.startsWith(unreachable);
  return new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', text, {
    fields: { isConnectionLost: true, isAway },
  });
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

/**
 * True if the connection ended without an answer of the server, so that whether a statement took effect is
 * unknown.
 */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof PlatformError && error.fields['isConnectionLost'] === true;
}

/**
 * True if the server does not answer, or says that it starts, stops or is full, so that waiting may help. A
 * wrong password, name or certificate is none of these.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  const { isAway, sqlState } = error.fields;
  return isAway === true || (typeof sqlState === 'string' && /^(08|57P0[1-3]|53300)/.test(sqlState));
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

// The driver reports a lost connection as a system error or as a plain Error, distinguished by its text
// alone.
const connectionTexts =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout e(xceeded|xpired)|Query read timeout|Cannot use a pool after)/;

/** Codes of Node for a handshake that failed, and of OpenSSL for a certificate that is not accepted. */
const tlsCodes =
  /^(ERR_(TLS|SSL|OSSL)_|EPROTO$|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_(CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$)/;

const unreachable = 'PostgreSQL unreachable: ';

/** What is wrong with the connection; undefined for an error of another kind. */
function describeConnectionError(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof CodedError) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  if (tlsCodes.test(code) || error.message.startsWith('The server does not support SSL')) {
    // Node's advice on options of its command line is not the remedy.
    const text = error.message.replace(/; if the root CA .*$/s, '');
    return `no TLS connection to PostgreSQL: ${text} (see sslmode and sslrootcert in storage.url)`;
  }
  if (/^SASL: .*password must be a/.test(error.message))
    return 'PostgreSQL asks for a password, and there is none: set PGPASSWORD, or put it into ~/.pgpass of this user';
  const isLost =
    code === 'ECONNRESET' ||
    (code !== '' && 'syscall' in error) ||
    error instanceof AggregateError ||
    connectionTexts.test(error.message);
  return isLost ? `${unreachable}${textOf(error)}` : undefined;
}

/** All addresses of a name fail together, in an error that has no text itself. */
function textOf(error: Error): string {
  if (!(error instanceof AggregateError)) return error.message;
  return [...new Set(error.errors.map((one: unknown) => (one instanceof Error ? one.message : '')))].join(
    ', ',
  );
}
