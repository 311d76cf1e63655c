import { createRequire } from 'node:module';
import type * as Pino from 'pino';
import { escapeHidden, type Log } from '../../core/index.ts';
import { createReadableStream } from './readable-stream.ts';

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
