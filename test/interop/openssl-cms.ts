import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Why the tests against `openssl cms` cannot run here, or false. */
export function opensslSkip(): string | false {
  const { status, stdout } = spawnSync('openssl', ['version'], { encoding: 'utf8' });
  if (status !== 0) return 'the program openssl is missing';
  return /^OpenSSL [3-9]\./.test(stdout) ? false : `needs OpenSSL 3, found ${stdout.trim()}`;
}

export interface OpensslResult {
  readonly isOk: boolean;
  readonly output: Buffer;
  readonly errors: string;
}

/** Runs `openssl cms` over files in its own folder, as `-in` and `-out` want them. */
export function createOpensslCms(): {
  run(args: readonly string[], input: Uint8Array): OpensslResult;
  close(): void;
} {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-cms-'));
  const inFile = path.join(folder, 'in');
  const outFile = path.join(folder, 'out');
  return {
    run: (args, input) => {
      writeFileSync(inFile, input);
      writeFileSync(outFile, '');
      const { status, stderr } = spawnSync('openssl', ['cms', ...args, '-in', inFile, '-out', outFile], {
        encoding: 'utf8',
      });
      return { isOk: status === 0, output: readFileSync(outFile), errors: stderr };
    },
    close: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
