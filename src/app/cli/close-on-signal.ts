import type { Closable } from '../../core/index.ts';
import type { CliContext } from './context.ts';

// Connections that do not close within this time (a peer that never answers) are dropped; their work is
// stored.
const closeGraceMs = 10_000;

/**
 * One stop reaches a program as several signals: a group's, and those that npm, `sh` or our starter pass on.
 */
const sameStopMs = 1_000;
const parentCheckMs = 500;

/**
 * Closes a running service on Ctrl-C or SIGTERM; a second signal ends at once if it comes a second later.
 * SIGHUP closes it when its terminal has gone. A service without a terminal only answers it: the signal would
 * end the process amid its work, and systemd takes that for a wanted end. One that npm has started closes
 * when its parent has ended: npm passes a signal on to its shell only.
 */
export function closeOnSignal(part: Closable, context: CliContext): void {
  let closingSinceMs: number | undefined;
  const stop = (): void => {
    if (closingSinceMs !== undefined) {
      if (performance.now() - closingSinceMs >= sameStopMs) process.exit(1);
      return;
    }
    closingSinceMs = performance.now();
    context.note('stopping …');
    setTimeout(() => process.exit(1), closeGraceMs).unref();
    part.close().then(
      () => context.note('stopped'),
      (error: unknown) => {
        context.note(`stopping failed: ${String(error)}`);
        context.setExitCode(1);
      },
    );
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  if (context.env['npm_command'] !== undefined) stopWithParent(stop);
  const isAtTerminal = process.stdin.isTTY || process.stdout.isTTY;
  process.off('SIGHUP', ignore);
  process.on('SIGHUP', () => {
    if (isAtTerminal) stop();
    else
      context.note(
        'SIGHUP changes nothing: settings are read at the start, and renewed TLS files are used within one minute',
      );
  });
}

/** A service that starts without a terminal is not ended by SIGHUP, either. */
export function ignoreHangup(): void {
  if (!process.stdin.isTTY && !process.stdout.isTTY) process.on('SIGHUP', ignore);
}

const ignore = (): void => {};

function stopWithParent(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentCheckMs).unref();
}
