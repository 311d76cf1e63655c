/** `bin/openhisp.js` started by a Node that is too old: the one that npm has installed takes over. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { waitFor } from './sandbox-fixture.ts';

const root = path.resolve(import.meta.dirname, '../..');
const beOld =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})';

/** Stays until it is told to end, and says what it hears. */
const stayingProgram = `
process.on('SIGTERM', () => { console.log('SIGTERM heard'); process.exit(7); });
console.log('pid ' + process.pid);
setInterval(() => {}, 1000);
`;

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exit: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
}

function start(bin: string, ...words: readonly string[]): Run {
  const child = spawn(process.execPath, ['--import', beOld, bin, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, output: () => output, exit };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the program started by an older Node', () => {
  let folder: string;
  /** Installed below another program, its Node hoisted, with a program that stays in place of the command line. */
  let hoisted: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'openhisp-older-'));
    hoisted = path.join(folder, 'node_modules/openhisp');
    await mkdir(path.join(hoisted, 'dist/program'), { recursive: true });
    await mkdir(path.join(folder, 'node_modules/.bin'));
    await cp(path.join(root, 'bin'), path.join(hoisted, 'bin'), { recursive: true });
    await writeFile(path.join(hoisted, 'package.json'), '{"type":"module"}');
    await writeFile(path.join(hoisted, 'dist/program/main.js'), stayingProgram);
    await symlink(process.execPath, path.join(folder, 'node_modules/.bin/node'));
  });
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  async function startStaying(): Promise<Run & { readonly pid: number }> {
    const run = start(path.join(hoisted, 'bin/openhisp.js'));
    const text = await waitFor(run.output, (output) => /pid \d+\n/.test(output));
    return { ...run, pid: Number(/pid (\d+)/.exec(text)?.[1]) };
  }

  it('runs a command to its end with its output and exit code', async () => {
    const good = start(path.join(root, 'bin/openhisp.js'), '--version');
    assert.deepEqual(await good.exit, [0, null]);
    await waitFor(good.output, (output) => output.includes(packageJson.version));
    const bad = start(path.join(root, 'bin/openhisp.js'), 'no-such-command');
    assert.deepEqual(await bad.exit, [1, null]);
  });

  it('finds the Node that npm has hoisted, and passes SIGTERM on to it', async () => {
    const { child, exit, output, pid } = await startStaying();
    assert.notEqual(pid, child.pid);
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [7, null]);
    await waitFor(output, (text) => text.includes('SIGTERM heard'));
    await waitFor(
      () => isAlive(pid),
      (alive) => !alive,
    );
  });

  it('npm start ends when npm gets a signal, and leaves nothing running', async () => {
    await writeFile(
      path.join(hoisted, 'package.json'),
      JSON.stringify({ type: 'module', scripts: { start: packageJson.scripts.start } }),
    );
    const child = spawn('npm', ['start'], { cwd: hoisted, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const exit = once(child, 'exit');
    const text = await waitFor(
      () => output,
      (now) => /pid \d+\n/.test(now),
    );
    child.kill('SIGTERM');
    await exit;
    const pid = Number(/pid (\d+)/.exec(text)?.[1]);
    await waitFor(
      () => isAlive(pid),
      (alive) => !alive,
    );
    assert.match(output, /SIGTERM heard/);
  });

  it('leaves nothing running when it is killed', async () => {
    const { child, exit, pid } = await startStaying();
    child.kill('SIGKILL');
    assert.deepEqual(await exit, [null, 'SIGKILL']);
    await waitFor(
      () => isAlive(pid),
      (alive) => !alive,
    );
  });

  it('ends by the signal that ended the program', async () => {
    const { exit, pid } = await startStaying();
    process.kill(pid, 'SIGKILL');
    assert.deepEqual(await exit, [null, 'SIGKILL']);
  });

  it('says which Node it needs where there is none', async () => {
    await rm(path.join(folder, 'node_modules/.bin/node'));
    const run = start(path.join(hoisted, 'bin/openhisp.js'));
    assert.deepEqual(await run.exit, [1, null]);
    await waitFor(run.output, (output) =>
      output.includes('openhisp needs Node 22.18 or newer; this is 20.0.0.'),
    );
  });
});
