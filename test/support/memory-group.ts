/** Limits the memory of a process by a control group, as a container does. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface MemoryGroup {
  readonly limitBytes: number;
  /** A process that writes its id into this file is limited from then on. */
  readonly joinFile: string;
  /** What its processes hold now, without pages of files. */
  heldBytes(): number;
  /** How many of its processes the system has ended for want of memory. */
  countKills(): number;
  remove(): void;
}

const root = '/sys/fs/cgroup';
/** Version 2 has one tree for all controllers. */
const isSecond = existsSync(`${root}/cgroup.controllers`);

/** The group, or the reason why none can be made here. */
export function openMemoryGroup(limitBytes: number): MemoryGroup | string {
  const folder = path.join(root, isSecond ? '' : 'memory', `openhisp-test-${process.pid}`);
  const write = (name: string, value: number): void => writeFileSync(path.join(folder, name), String(value));
  const read = (name: string, field: string): number =>
    Number(new RegExp(`^${field} (\\d+)$`, 'm').exec(readFileSync(path.join(folder, name), 'utf8'))?.[1]);
  try {
    mkdirSync(folder);
    write(isSecond ? 'memory.max' : 'memory.limit_in_bytes', limitBytes);
    if (isSecond) write('memory.swap.max', 0);
  } catch (error) {
    if (existsSync(folder)) rmdirSync(folder);
    return `no control group for memory can be made here: ${String((error as NodeJS.ErrnoException).code)}`;
  }
  return {
    limitBytes,
    joinFile: path.join(folder, 'cgroup.procs'),
    heldBytes: () => read('memory.stat', isSecond ? 'anon' : 'rss'),
    countKills: () => read(isSecond ? 'memory.events' : 'memory.oom_control', 'oom_kill'),
    remove: () => rmdirSync(folder),
  };
}
