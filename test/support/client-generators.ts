/** The generators of API clients, installed apart from the project's own packages: `test/clients/generators`. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const source = path.join(root, 'test/clients/generators');
const files = ['package.json', 'package-lock.json'] as const;
const doneFile = 'node_modules/.package-lock.json';

/** The folder with their `node_modules`. */
export const generatorsFolder = path.join(root, 'node_modules/.cache/client-generators');

/** Why they are not there as their lock file says, or undefined if they are. */
export function whyNoGenerators(): string | undefined {
  const isCurrent =
    existsSync(path.join(generatorsFolder, doneFile)) &&
    files.every((file) => {
      const copy = path.join(generatorsFolder, file);
      return existsSync(copy) && readFileSync(copy).equals(readFileSync(path.join(source, file)));
    });
  return isCurrent ? undefined : 'the client generators are not installed: node tools/install-peers.ts';
}

/** Installs them from the npm registry. Undefined on success, else what went wrong. */
export function installGenerators(): string | undefined {
  if (whyNoGenerators() === undefined) return undefined;
  rmSync(generatorsFolder, { recursive: true, force: true, maxRetries: 5 });
  mkdirSync(generatorsFolder, { recursive: true });
  for (const file of files) cpSync(path.join(source, file), path.join(generatorsFolder, file));
  const { status, stderr, error } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: generatorsFolder,
    encoding: 'utf8',
    timeout: 10 * 60_000,
  });
  if (status === 0) return undefined;
  rmSync(path.join(generatorsFolder, 'node_modules'), { recursive: true, force: true, maxRetries: 5 });
  return error?.message ?? stderr.trim().split('\n').at(-1) ?? 'npm ci failed';
}
