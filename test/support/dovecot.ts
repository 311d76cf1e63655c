/** A real Dovecot on loopback that takes mail by LMTP and keeps it in folders. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTemporaryFolder, freePort, runProgram, startProgram } from './processes.ts';

export interface RunningDovecot {
  readonly port: number;
  /** Messages that the user has, oldest first, with CRLF. */
  mailsOf(user: string): Promise<readonly string[]>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and deletes its mail. */
  remove(): Promise<void>;
}

/** Takes mail for these users alone. Needs root: its parts change to other users. */
export async function startDovecot(users: readonly string[]): Promise<RunningDovecot> {
  const folder = await createTemporaryFolder('dovecot');
  const port = await freePort();
  const config = path.join(folder.path, 'dovecot.conf');
  const mail = path.join(folder.path, 'mail');
  await chmod(folder.path, 0o755);
  await mkdir(mail);
  await runProgram('chown', ['mail', mail]);
  await writeFile(path.join(folder.path, 'users'), users.map((user) => `${user}::8:8::\n`).join(''));
  await writeFile(config, configuration(folder.path, port));
  const start = () => startProgram('dovecot', ['-F', '-c', config], { isReady: port });
  let program = await start();
  return {
    port,
    async mailsOf(user) {
      const inbox = path.join(mail, user, 'new');
      if (!existsSync(inbox)) return [];
      const names = (await readdir(inbox)).toSorted();
      const texts = await Promise.all(names.map((name) => readFile(path.join(inbox, name), 'latin1')));
      return texts.map((text) => text.replaceAll(/\r?\n/g, '\r\n'));
    },
    stop: () => program.stop(),
    async start() {
      program = await start();
    },
    async remove() {
      await program.stop();
      await folder.remove();
    },
  };
}

function configuration(folder: string, port: number): string {
  return `protocols = lmtp
base_dir = ${folder}/run
log_path = ${folder}/log
ssl = no
first_valid_uid = 8
mail_location = maildir:${folder}/mail/%u
passdb {
  driver = passwd-file
  args = username_format=%u ${folder}/users
}
userdb {
  driver = passwd-file
  args = username_format=%u ${folder}/users
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${port}
  }
}
`;
}
