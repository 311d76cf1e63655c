/** A private PostgreSQL for the comparison: started in a temporary folder, loaded with the same rows, ended by its process id. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export interface PrivatePostgres {
  readonly client: pg.Client;
  readonly version: string;
  close(): Promise<void>;
}

// Memory for a machine of 8 GB and more; nothing has to survive, so nothing waits for the disk.
const settings = {
  shared_buffers: '3GB',
  effective_cache_size: '10GB',
  work_mem: '256MB',
  maintenance_work_mem: '1500MB',
  max_wal_size: '16GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  random_page_cost: '1.1',
  jit: 'off',
  max_parallel_workers_per_gather: '2',
  max_parallel_maintenance_workers: '2',
  listen_addresses: '',
} as const;

/** Undefined if PostgreSQL is not installed. */
export function findPostgres(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(root, version, 'bin'))
    .find((folder) => existsSync(join(folder, 'postgres')));
}

export async function startPostgres(binaries: string): Promise<PrivatePostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'openhisp-bench-pg-'));
  const user = serverUser();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const made = spawnSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'bench', '--locale=C', '--encoding=UTF8', '-A', 'trust'],
    { ...user, cwd: folder },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(binaries, 'postgres'), ['-D', data, '-k', folder, ...flags], {
    ...user,
    cwd: folder,
    stdio: 'ignore',
  });
  const client = await connect(folder);
  const answer = await client.query<{ version: string }>('select version()');
  return {
    client,
    version: answer.rows[0]?.version.split(' on ')[0] ?? '',
    close: () => stop(server, client, folder),
  };
}

// The server refuses to run as root; Debian's package brings a user for it.
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(spawnSync('id', [flag, 'postgres']).stdout.toString());
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function connect(folder: string): Promise<pg.Client> {
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ host: folder, user: 'bench', database: 'postgres' });
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (attempt > 100) throw error;
      await sleep(200);
    }
  }
}

async function stop(server: ChildProcess, client: pg.Client, folder: string): Promise<void> {
  await client.end();
  const ended = once(server, 'exit');
  server.kill('SIGINT');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
