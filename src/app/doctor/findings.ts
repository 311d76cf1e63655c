/**
 * `ok`: nothing to do. `note`: worth knowing, or it could not be checked. `warning`: it works, but badly or
 * not for long. `error`: mail or requests fail.
 */
export type Severity = 'ok' | 'note' | 'warning' | 'error';

/** The result of one check. */
export interface Finding {
  /** A stable word, for example `mx` or `disk`. */
  readonly check: string;
  /** The domain, host, file or other subject; empty for the installation. */
  readonly subject: string;
  readonly severity: Severity;
  readonly text: string;
  /** Advice; empty only if there is nothing to do. */
  readonly advice: string;
}

/** Makes the findings of one check about one subject. */
export interface Findings {
  ok(text: string): Finding;
  note(text: string, advice: string): Finding;
  warning(text: string, advice: string): Finding;
  error(text: string, advice: string): Finding;
}

export function findingsOf(check: string, subject = ''): Findings {
  const make =
    (severity: Severity) =>
    (text: string, advice = ''): Finding => ({ check, subject, severity, text, advice });
  return { ok: make('ok'), note: make('note'), warning: make('warning'), error: make('error') };
}

/** True if there is nothing to do. */
export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ severity }) => severity === 'ok' || severity === 'note');
}
