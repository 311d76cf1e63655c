/** Faults of disk and clock in another process, by a library that is compiled here (faults.c). */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findProgram } from './processes.ts';

export interface Faults {
  /** For the environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** The fault of the disk that holds the folder. */
  setDisk(state: 'well' | 'full' | 'read-only'): void;
  /** Sets the machine's clock, as the process sees it, wrong by so much. */
  shiftClock(seconds: number): void;
  /** Leaves of the folder what was flushed, as a loss of power does. The process must have ended. */
  loseUnflushed(): void;
}

/** The reason why no faults can be made here, or undefined. */
export function whyNoFaults(): string | undefined {
  if (process.platform !== 'linux') return 'faults need Linux';
  return findProgram('cc') === undefined ? 'not installed here: cc (Debian package gcc)' : undefined;
}

/** Prepares faults for the files under `folder`; the library and its control go to `workFolder`, which is spared. */
export function prepareFaults(workFolder: string, folder: string): Faults {
  mkdirSync(workFolder, { recursive: true });
  const library = path.join(workFolder, 'faults.so');
  const source = path.join(import.meta.dirname, 'faults.c');
  const compiled = spawnSync(
    findProgram('cc') ?? 'cc',
    ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'],
    {
      encoding: 'utf8',
    },
  );
  if (compiled.status !== 0) throw new Error(`the fault library was not compiled: ${compiled.stderr}`);
  const control = path.join(workFolder, 'faults');
  const state = Buffer.alloc(16);
  // In place: the process has mapped the file.
  const write = (): void => writeFileSync(control, state, { flag: existing ? 'r+' : 'w' });
  let existing = false;
  write();
  existing = true;
  const flushed = path.join(workFolder, 'flushed');
  mkdirSync(flushed);
  return {
    env: { LD_PRELOAD: library, FAULTS_CONTROL: control, FAULTS_FOLDER: folder, FAULTS_FLUSHED: flushed },
    loseUnflushed() {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      for (const name of readdirSync(flushed)) {
        // One whose flush did not end.
        if (/\.\d+$/.test(name)) continue;
        const file = path.join(folder, name.replaceAll('%', '/'));
        mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
        copyFileSync(path.join(flushed, name), file);
      }
    },
    setDisk(disk) {
      state[0] = { well: 0, full: 'f'.charCodeAt(0), 'read-only': 'r'.charCodeAt(0) }[disk];
      write();
    },
    shiftClock(seconds) {
      state.writeBigInt64LE(BigInt(seconds), 8);
      write();
    },
  };
}
