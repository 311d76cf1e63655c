/**
 * The one error class of the project and the vocabulary that the edges map from.
 *
 * A module lists its codes in a table and derives one class by {@link codedError}; an edge (HTTP, SMTP,
 * report) decides from `kind` alone, and retry logic reads `isTransient` alone.
 */

/** The kind of an error, which an edge maps to a status. */
export type ErrorKind =
  | 'invalid-input'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'too-large'
  | 'rate-limited'
  | 'untrusted'
  | 'unavailable'
  | 'internal';

/** One row of a module's error table. */
export interface ErrorSpec {
  readonly kind: ErrorKind;
  /**
   * True if trying again later can work. Defaults to true for `unavailable` and `rate-limited`, else false.
   */
  readonly isTransient?: boolean;
  /** Text that is safe for an outsider. Defaults to the kind's fixed text. */
  readonly publicMessage?: string;
}

/** A module's error table, keyed by code (`SCREAMING_SNAKE`, prefixed by the module's name). */
export type ErrorTable<Code extends string = string> = Readonly<Record<Code, ErrorSpec>>;

/** One faulty field of a request, as the API reports it (Decision 0005). */
export interface FieldProblem {
  /** The name on the wire, for example `org_zip` or `emailAttachmentList[0].attachmentContent`. */
  readonly field: string;
  /** A stable word, for example `required`, `invalid`, `too_long`, `center_not_found`. */
  readonly reason: string;
  /** One sentence for a person; it never repeats a patient's data or a secret. */
  readonly detail: string;
}

export interface ErrorOptionsFor {
  readonly cause?: unknown;
  /** Structured context for log and audit; never patient data, secrets or keys. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly problems?: readonly FieldProblem[];
  readonly publicMessage?: string;
  /** Seconds after which a caller may try again. */
  readonly retryAfterSeconds?: number;
}

const publicTexts: Readonly<Record<ErrorKind, string>> = {
  'invalid-input': 'Invalid request.',
  unauthenticated: 'Valid credentials are required.',
  forbidden: 'Not allowed.',
  'not-found': 'Not found.',
  conflict: 'The current state does not allow this.',
  'too-large': 'A limit is exceeded.',
  'rate-limited': 'Too many requests.',
  untrusted: 'Trust could not be established.',
  unavailable: 'Temporarily unavailable; retry later.',
  internal: 'Internal error.',
};

/** Base of every error that the project throws on purpose. */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly kind: ErrorKind;
  readonly isTransient: boolean;
  /** Safe for an outsider. */
  readonly publicMessage: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly problems: readonly FieldProblem[];
  readonly retryAfterSeconds: number | undefined;

  /** `message` is for operators: it may name hosts and certificates, never patient data or secrets. */
  constructor(table: ErrorTable<Code>, code: Code, message: string, options: ErrorOptionsFor = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const spec: ErrorSpec = table[code];
    this.name = new.target.name;
    this.code = code;
    this.kind = spec.kind;
    this.isTransient = spec.isTransient ?? (spec.kind === 'unavailable' || spec.kind === 'rate-limited');
    this.publicMessage = options.publicMessage ?? spec.publicMessage ?? publicTexts[spec.kind];
    this.fields = options.fields ?? {};
    this.problems = options.problems ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The base of a module's class: `class DnsError extends codedError(dnsErrors) {}`. */
export function codedError<Code extends string>(table: ErrorTable<Code>) {
  return class extends CodedError<Code> {
    constructor(code: Code, message: string, options?: ErrorOptionsFor) {
      super(table, code, message, options);
    }
  };
}

/** The error's stable code, or `INTERNAL` for anything that is not ours. */
export function errorCode(error: unknown): string {
  return error instanceof CodedError ? error.code : 'INTERNAL';
}

/** The audit outcome of an error: `failed` if the fault is ours, `refused` if it is the caller's. */
export function failureOutcome(error: unknown): 'refused' | 'failed' {
  const isOurs = !(error instanceof CodedError) || error.kind === 'internal' || error.kind === 'unavailable';
  return isOurs ? 'failed' : 'refused';
}

/** One line for an operator's log. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
