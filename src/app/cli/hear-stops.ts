import type { Closable } from '../../core/index.ts';
import type { CliContext } from './context.ts';
import { rememberParents } from './parent-chain.ts';

// Connections that do not close within this time (a peer that never answers) are dropped; their work is
// stored.
const closeGraceMs = 10_000;

/**
 * One stop reaches a program as several signals: a group's, and those that npm, `sh` or our starter pass on.
 */
const sameStopMs = 1_000;
const parentCheckMs = 500;

export interface StopSignals {
  /** From now on a stop closes this in order. */
  close(part: Closable): void;
}

/**
 * Hears Ctrl-C and SIGTERM. Until there is something to close they end the process as they do by default.
 * A second signal ends it at once if it comes a second later. SIGHUP is a stop when the process has a
 * terminal, which has gone. Without one it is only answered: the signal would end the process amid its work,
 * and systemd takes that for a wanted end. What npm or npx has started stops when they have ended: npm passes
 * a signal on to its shell only, and SIGKILL to nobody.
 */
export function hearStops(context: CliContext): StopSignals {
  let part: Closable | undefined;
  let closingSinceMs: number | undefined;
  let hungUpMs = -Infinity;
  const stop = (): void => {
    if (part === undefined) process.exit(1);
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
  const isAtTerminal = process.stdin.isTTY || process.stdout.isTTY;
  process.on('SIGHUP', () => {
    hungUpMs = performance.now();
    if (isAtTerminal) stop();
    else
      context.note(
        'SIGHUP changes nothing: settings are read at the start, and renewed TLS files are used within one minute',
      );
  });
  if (context.env['npm_command'] !== undefined)
    // npm under nohup ends by the hangup that this process is to survive: Node resets what nohup has set.
    stopWithParents(stop, () => performance.now() - hungUpMs < 2 * parentCheckMs);
  return {
    close(started) {
      part = started;
      process.on('SIGINT', stop);
      process.on('SIGTERM', stop);
    },
  };
}

function stopWithParents(stop: () => void, isHangup: () => boolean): void {
  const parents = rememberParents(process.channel !== undefined);
  const timer = setInterval(() => {
    if (!parents.isBroken()) return;
    clearInterval(timer);
    if (!isHangup()) stop();
  }, parentCheckMs).unref();
}
