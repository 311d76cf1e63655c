import { silentLog, type Log } from '../../src/core/index.ts';

/** A log whose warnings and errors are collected as text, such as `warn The key …`, without their fields. */
export function collectLines(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const log = {
    ...silentLog,
    warn: (_: object, text: string) => void lines.push(`warn ${text}`),
    error: (_: object, text: string) => void lines.push(`error ${text}`),
  };
  return { log, lines };
}
