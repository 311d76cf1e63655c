import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { packageRoot, type Log } from '../../core/index.ts';

/** A build takes about one second on an idle machine. */
const maxBuildMs = 60_000;

/**
 * In a checkout: builds the front end if it is missing or older than its sources, so that
 * `npm ci && npm start` is enough. The package contains the built front end and no builder, and a server's
 * installation has no development dependencies. Never throws: without a build the server works, and a page
 * explains how to build it.
 */
export async function buildIfStale(
  log: Log,
  { folder = packageRoot }: { readonly folder?: string } = {},
): Promise<void> {
  const builder = path.join(folder, 'tools/build-console.ts');
  const page = path.join(folder, 'dist/console/index.html');
  if (!existsSync(builder) || isFresh(folder, page)) return;
  const output = canBuild(folder)
    ? await build(folder, builder)
    : 'The development dependencies are not installed.';
  if (output === undefined) return;
  const fields = { output, remedy: 'Build it as docs/installation.md, section 1, describes.' };
  if (existsSync(page)) log.warn(fields, 'the console is older than its sources and was not built again');
  else log.warn(fields, 'the console is not built; it serves no screens');
}

function canBuild(folder: string): boolean {
  try {
    createRequire(path.join(folder, 'package.json')).resolve('esbuild');
    return true;
  } catch {
    return false;
  }
}

function isFresh(folder: string, page: string): boolean {
  const builtAt = modifiedAt(page);
  const sources = path.join(folder, 'src/web');
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' });
  const files = [
    path.join(folder, 'tools/build-console.ts'),
    path.join(folder, 'package-lock.json'),
    ...names.map((name) => path.join(sources, name)),
  ];
  return files.every((file) => modifiedAt(file) <= builtAt);
}

function modifiedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Returns the builder's output if it failed. */
function build(folder: string, builder: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [builder], { cwd: folder, timeout: maxBuildMs });
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
