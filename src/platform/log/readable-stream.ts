import { escapeHidden, oneLine } from '../../core/index.ts';

/** Turns pino's JSON lines into lines for a person at a terminal. */
export function createReadableStream(write: (line: string) => void): { write(line: string): void } {
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
