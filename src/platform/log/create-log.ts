import { createRequire } from 'node:module';
import type * as Pino from 'pino';
import { escapeHidden, type Log, oneLine } from '../../core/index.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogOptions {
  readonly level: LogLevel;
  /** Lines for a person instead of JSON. Defaults to whether standard output is a terminal. */
  readonly isReadable?: boolean;
  /** Output stream of the lines; defaults to standard output. */
  readonly write?: (line: string) => void;
  /** Fields that every line carries, for example the node's id. */
  readonly base?: Readonly<Record<string, unknown>>;
}

/** A log whose parts can be named. */
export interface NamedLog extends Log {
  child(fields: Readonly<Record<string, unknown>>): NamedLog;
}

/** Names whose values never reach a line, at any of the first three levels of a record. */
const secretNames = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'clientSecret',
  'client_secret',
  'token',
  'accessToken',
  'access_token',
  'privateKey',
  'masterKey',
  'key',
  'messageBody',
  'messageSubject',
  'subject',
  'body',
  'content',
  'attachmentContent',
  'patientFirstname',
  'patientMiddlename',
  'patientLastname',
  'patientDOB',
  'patientGender',
  'patientId',
  'patient_summary',
  'patientAddressStreet1',
  'patientAddressStreet2',
  'patientAddressCity',
  'patientAddressState',
  'patientAddressZip',
];

/** JSON lines (readable ones on a terminal), times in UTC, secrets and patient fields cut out by name. */
export function createLog(options: LogOptions): NamedLog {
  const isReadable = options.isReadable ?? (options.write === undefined && process.stdout.isTTY);
  const write = options.write ?? ((line: string) => void process.stdout.write(line));
  // Loaded by what serves; a command starts sooner without it.
  const { pino } = createRequire(import.meta.url)('pino') as typeof Pino;
  return pino(
    {
      level: options.level,
      base: options.base ?? {},
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
      serializers: { error: describeError },
    },
    // JSON leaves C1 controls, marks of direction and line separators as they are.
    isReadable ? createReadableStream(write) : { write: (line) => write(escapeHidden(line)) },
  );
}

/** Properties of an error in the log: class, code, text and stack, also of its causes; no others. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  return {
    name: error.name,
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
    text: error.message,
    stack: error.stack,
    ...(error.cause === undefined || depth > 4 ? {} : { cause: describeError(error.cause, depth + 1) }),
  };
}

/** Turns pino's JSON lines into lines for a person at a terminal. */
function createReadableStream(write: (line: string) => void): { write(line: string): void } {
  return { write: (line) => write(`${formatLine(line)}\n`) };
}

function formatLine(line: string): string {
  const record: unknown = JSON.parse(line);
  if (typeof record !== 'object' || record === null) return oneLine(line);
  const { level, time, msg, error, ...rest } = record as Record<string, unknown>;
  const clockTime = typeof time === 'string' ? time.slice(11, 23) : '';
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${formatValue(value)}`);
  const head = [
    clockTime,
    String(level).toUpperCase().padEnd(5),
    typeof msg === 'string' ? msg : '',
    ...fields,
  ].join(' ');
  return error === undefined ? oneLine(head) : `${oneLine(head)}\n${escapeHidden(formatError(error))}`;
}

function formatValue(value: unknown): string {
  return typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value);
}

function formatError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return `    ${String(error)}`;
  const { stack, text, cause } = error as { stack?: unknown; text?: unknown; cause?: unknown };
  const own = String(stack ?? text).replace(/^/gm, '    ');
  return cause === undefined ? own : `${own}\n    caused by\n${formatError(cause)}`;
}
