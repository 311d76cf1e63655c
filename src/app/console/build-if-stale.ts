import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../core/index.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const builder = path.join(root, 'tools/build-console.ts');
const sources = path.join(root, 'src/web');
const page = path.join(root, 'dist/console/index.html');
/** A build takes about one second on an idle machine. */
const maxBuildMs = 60_000;

/**
 * In a checkout: builds the front end if it is missing or older than its sources, so that `npm ci && npm start` is enough.
 * The package contains the built front end and no builder. Never throws: without a build the server works, and a page explains how to build it.
 */
export async function buildIfStale(log: Log): Promise<void> {
  if (!existsSync(builder) || isFresh()) return;
  const failure = await build();
  if (failure !== undefined)
    log.warn({ output: failure }, 'the console could not be built; it serves no screens');
}

function isFresh(): boolean {
  const builtAt = modifiedAt(page);
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' });
  const files = [
    builder,
    path.join(root, 'package-lock.json'),
    ...names.map((name) => path.join(sources, name)),
  ];
  return files.every((file) => modifiedAt(file) <= builtAt);
}

function modifiedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Returns the builder's output if it failed. */
function build(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [builder], { cwd: root, timeout: maxBuildMs });
    let output = '';
    const append = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-2000);
    };
    child.stdout.on('data', append);
    child.stderr.on('data', append);
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? undefined : output));
  });
}
