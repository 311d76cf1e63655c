import { execFile } from 'node:child_process';
import { errorText, type Log } from '../../core/index.ts';

/** systemd gives up on a start or a stop long after this. */
const timeoutMs = 10_000;

/**
 * Tells systemd that the service answers, or what it waits for (sd_notify(3), `Type=notify`): `systemctl
 * start` returns when it is ready, and fails if the start fails; `systemctl status` shows the text. Does
 * nothing under another manager. Node has no datagram sockets of Unix, so `systemd-notify` sends it; a
 * failure is logged.
 */
export async function notifyManager(
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
  words: readonly string[],
): Promise<void> {
  if (env['NOTIFY_SOCKET'] === undefined) return;
  await new Promise<void>((resolve) => {
    execFile('systemd-notify', [...words], { env, timeout: timeoutMs }, (error) => {
      if (error !== null)
        log.warn({ problem: errorText(error) }, 'systemd could not be told of the state of the service');
      resolve();
    });
  });
}
