import type { Closable } from '../../core/index.ts';
import type { CliContext } from './context.ts';

// Connections that do not close within this time (a peer that never answers) are dropped; their work is stored.
const closeGraceMs = 10_000;

/**
 * Closes a running service on Ctrl-C or SIGTERM; a second signal ends at once. SIGHUP closes it when its terminal has gone. A service
 * without a terminal only answers it: the signal would end the process amid its work, and systemd takes that for a wanted end.
 */
export function closeOnSignal(part: Closable, context: CliContext): void {
  let isClosing = false;
  const stop = (): void => {
    if (isClosing) process.exit(1);
    isClosing = true;
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
  const isAtTerminal = process.stdin.isTTY || process.stdout.isTTY;
  process.on('SIGHUP', () => {
    if (isAtTerminal) stop();
    else
      context.note(
        'SIGHUP changes nothing: settings are read at the start, and renewed TLS files are used within one minute',
      );
  });
}
