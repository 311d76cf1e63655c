/**
 * Runs `work` without stack traces in the errors that it makes. Node tells an object of options
 * (`{ key, padding }`) from a key by two exceptions that it catches itself; their traces take longer than
 * verifying an RSA signature.
 */
export function withoutStackTraces<T>(work: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
