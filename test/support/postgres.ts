/** A PostgreSQL server of Debian's package on loopback, in its own folder; nothing in it has to survive. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createTemporaryFolder, findProgram, freePort } from './processes.ts';

export interface RunningPostgres {
  /** Address of the administrator's database, without a password. */
  readonly url: string;
  /** Its data folder. */
  readonly data: string;
  /** Address of another database of this server. */
  urlOf(database: string): string;
  readonly pid: number;
  /** Ends the server (`fast` rolls back what runs, `immediate` is a crash) and starts it again on the same port. */
  restart(how?: 'fast' | 'immediate', pauseMs?: number): Promise<void>;
  stop(): Promise<void>;
  /** The same when nothing can be awaited any more. */
  kill(): void;
}

// Many short-lived databases, each with its own connections; flushing would only cost time.
const settings = {
  listen_addresses: '127.0.0.1',
  max_connections: '300',
  shared_buffers: '64MB',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'on',
  autovacuum: 'on',
  jit: 'off',
  log_min_messages: 'fatal',
  max_wal_size: '4GB',
} as const;

const initSettings = [
  '--username=openhisp',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C.UTF-8',
  '--locale-provider=icu',
  '--icu-locale=en-US',
  '--no-sync',
] as const;

const stopSignals = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** The reason why no PostgreSQL can be started here, or undefined. */
export function whyNoPostgres(): string | undefined {
  for (const name of ['initdb', 'postgres'])
    if (findProgram(name) === undefined) return `not installed here: ${name} (Debian package postgresql)`;
  if (process.getuid?.() === 0 && serverUser().uid === undefined)
    return 'PostgreSQL refuses to run as root, and there is no user postgres';
  return undefined;
}

/** For benchmarks: every commit is on disk, as in production. */
const durable = { fsync: 'on', full_page_writes: 'on' } as const;

/** Starts a server. Its default collation is that of American English, so that a forgotten `C` shows. */
export async function startPostgres(
  options: {
    readonly isDurable?: boolean;
    /** The environment of the server, by its data folder; over this process's own. */
    readonly env?: (data: string) => Readonly<Record<string, string>>;
    /** A server whose changes this one follows as a hot standby, until it is promoted. */
    readonly standbyOf?: Pick<RunningPostgres, 'url'>;
  } = {},
): Promise<RunningPostgres> {
  const folder = await createTemporaryFolder('postgres');
  const user = serverUser();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder.path, user.uid, user.gid);
  const data = path.join(folder.path, 'data');
  const [program, ...words] =
    options.standbyOf === undefined
      ? ['initdb', '-D', data, ...initSettings]
      : ['pg_basebackup', '-D', data, '-d', options.standbyOf.url, '-R', '--checkpoint=fast', '--no-sync'];
  const made = spawnSync(findProgram(program) ?? program, words, { ...user, cwd: folder.path });
  if (made.status !== 0) throw new Error(`${program} failed: ${made.stderr.toString()}`);
  const port = await freePort();
  const urlOf = (database: string): string => `postgres://openhisp@127.0.0.1:${port}/${database}`;
  const env = { ...process.env, ...options.env?.(data) };
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const flags = Object.entries({ ...settings, ...(options.isDurable === true && durable), port }).flatMap(
      ([name, value]) => ['-c', `${name}=${value}`],
    );
    const started = spawn(findProgram('postgres') ?? 'postgres', ['-D', data, '-k', folder.path, ...flags], {
      ...user,
      cwd: folder.path,
      env,
      stdio: 'ignore',
    });
    // A test file ends with its last test; its server is killed then.
    started.unref();
    await answers(started, urlOf('postgres'));
    return started;
  }

  async function end(how: keyof typeof stopSignals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = once(child, 'exit');
    child.kill(stopSignals[how]);
    await ended;
  }

  return {
    url: urlOf('postgres'),
    data,
    urlOf,
    get pid() {
      return child.pid ?? 0;
    },
    async restart(how = 'fast', pauseMs = 0) {
      await end(how);
      await sleep(pauseMs);
      child = await launch();
    },
    async stop() {
      await end('immediate');
      await folder.remove();
    },
    kill() {
      child.kill('SIGQUIT');
      rmSync(folder.path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

// The server refuses to run as root; Debian's package brings a user for it.
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number =>
    Number.parseInt(spawnSync('id', [flag, 'postgres']).stdout.toString(), 10);
  const [uid, gid] = [idOf('-u'), idOf('-g')];
  return Number.isNaN(uid) || Number.isNaN(gid) ? {} : { uid, gid };
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (attempt > 600 || child.exitCode !== null) throw error;
      await sleep(50);
    }
  }
}
