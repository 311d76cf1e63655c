/** Processor time of a process by kind of thread, as Linux reports it. */
import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds by kind. */
export type ThreadTimes = Readonly<Record<string, number>>;

/** Node's names of its threads; the main thread has the process's id. */
const kinds: Readonly<Record<string, string>> = {
  V8Worker: 'garbage collection and compilation',
  'libuv-worker': 'file system (flushes)',
  WorkerThread: 'worker threads',
};

export function readThreadTimes(pid: number): ThreadTimes {
  const times: Record<string, number> = {};
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const kind = id === String(pid) ? 'main thread' : (kinds[readName(pid, id)] ?? 'other threads');
    times[kind] = (times[kind] ?? 0) + readMs(`/proc/${pid}/task/${id}/schedstat`);
  }
  return times;
}

/** Of a process and all that it has started, in milliseconds: a PostgreSQL server is a process per connection. */
export function readTreeMs(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((id) =>
    readFileSync(`/proc/${pid}/task/${id}/children`, 'utf8').trim().split(' ').filter(Boolean),
  );
  return children.reduce((sum, child) => sum + readTreeMs(Number(child)), readMs(`/proc/${pid}/schedstat`));
}

/** The first number is the time on a processor, in nanoseconds. */
function readMs(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}

function readName(pid: number, id: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
