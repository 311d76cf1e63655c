/** A real Postfix on loopback, with its own queue, that hands all mail on to one place, or stores it. */
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunningServer } from './named.ts';
import { createTemporaryFolder, findProgram, freePort, runProgram, startProgram } from './processes.ts';

export interface PostfixOptions {
  /** Port on 127.0.0.1 of the server that all mail goes to; needed unless the settings say where it goes. */
  readonly relayPort?: number;
  /** Further lines of main.cf. */
  readonly settings?: readonly string[];
}

/** Starts Postfix in the foreground. Needs root: its parts change to their own user. */
export async function startPostfix({ relayPort = 9, settings = [] }: PostfixOptions): Promise<RunningServer> {
  const folder = await createTemporaryFolder('postfix');
  const port = await freePort();
  const config = path.join(folder.path, 'config');
  for (const name of ['config', 'queue', 'data']) await mkdir(path.join(folder.path, name));
  await writeFile(path.join(config, 'main.cf'), mainConfiguration(folder.path, relayPort, settings));
  await writeFile(path.join(config, 'master.cf'), masterConfiguration(port));
  await chmod(config, 0o755);
  try {
    await runProgram('chown', ['postfix', path.join(folder.path, 'data')]);
    const program = await startProgram('postfix', ['-c', config, 'start-fg'], { isReady: port });
    return {
      port,
      output: () => readLog(folder.path) + program.output(),
      stop: async () => {
        await runProgram('postfix', ['-c', config, 'stop']);
        await program.stop();
        await folder.remove();
      },
    };
  } catch (error) {
    const log = readLog(folder.path);
    await folder.remove();
    throw new Error(`Postfix did not start:\n${log}`, { cause: error });
  }
}

// Postfix opens its log by name, and a pipe to us has none.
function readLog(folder: string): string {
  const file = path.join(folder, 'mail.log');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function mainConfiguration(folder: string, relayPort: number, settings: readonly string[]): string {
  const daemons = findProgram('smtpd') ?? '/usr/lib/postfix/sbin/smtpd';
  return `compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
daemon_directory = ${path.dirname(daemons)}
command_directory = /usr/sbin
maillog_file = ${folder}/mail.log
maillog_file_prefixes = ${folder}
myhostname = relay.example.net
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
relayhost = [127.0.0.1]:${relayPort}
alias_maps =
alias_database =
local_recipient_maps =
smtp_tls_security_level = none
message_size_limit = 80000000
mailbox_size_limit = 0
smtputf8_enable = no
${settings.join('\n')}
`;
}

function masterConfiguration(port: number): string {
  const services: readonly (readonly [
    name: string,
    type: string,
    command: string,
    isPrivate?: string,
    wakeup?: string,
    max?: string,
  ])[] = [
    [`127.0.0.1:${port}`, 'inet', 'smtpd', 'n'],
    ['pickup', 'unix', 'pickup', 'n', '60', '1'],
    ['cleanup', 'unix', 'cleanup', 'n', '-', '0'],
    ['qmgr', 'unix', 'qmgr', 'n', '300', '1'],
    ['tlsmgr', 'unix', 'tlsmgr', '-', '1000?', '1'],
    ['rewrite', 'unix', 'trivial-rewrite'],
    ['bounce', 'unix', 'bounce', '-', '-', '0'],
    ['defer', 'unix', 'bounce', '-', '-', '0'],
    ['trace', 'unix', 'bounce', '-', '-', '0'],
    ['verify', 'unix', 'verify', '-', '-', '1'],
    ['flush', 'unix', 'flush', 'n', '1000?', '0'],
    ['proxymap', 'unix', 'proxymap'],
    ['smtp', 'unix', 'smtp'],
    ['relay', 'unix', 'smtp'],
    ['virtual', 'unix', 'virtual'],
    ['error', 'unix', 'error'],
    ['retry', 'unix', 'error'],
    ['discard', 'unix', 'discard'],
    ['anvil', 'unix', 'anvil', '-', '-', '1'],
    ['scache', 'unix', 'scache', '-', '-', '1'],
    ['postlog', 'unix-dgram', 'postlogd', 'n', '-', '1'],
  ];
  // name type private unprivileged chroot wakeup maxproc command
  return services
    .map(([name, type, command, isPrivate = '-', wakeup = '-', max = '-']) =>
      // What stores mail begins as root, to become the user of the mailbox.
      [name, type, isPrivate, name === 'virtual' ? 'n' : '-', 'n', wakeup, max, command].join(' '),
    )
    .join('\n')
    .concat('\n');
}
