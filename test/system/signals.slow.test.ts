/** How the program is started, and how it is told to stop: it closes in order and nothing is left running. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import {
  createTemporaryFolder,
  endWithTests,
  runProgram,
  type TemporaryFolder,
} from '../support/processes.ts';
import { waitFor } from './sandbox-fixture.ts';

const root = path.resolve(import.meta.dirname, '../..');
const bin = path.join(root, 'bin/openhisp.js');
const beOld =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})';

interface Start {
  readonly words: readonly string[];
  /** Its first process is told of a stop, or the whole group is. */
  readonly stops: readonly (readonly ['first' | 'group', NodeJS.Signals])[];
}

const starts: Readonly<Record<string, Start>> = {
  node: {
    words: [process.execPath, bin, 'serve'],
    stops: [
      ['first', 'SIGTERM'],
      ['first', 'SIGINT'],
      ['group', 'SIGTERM'],
    ],
  },
  'an older node': {
    words: [process.execPath, '--import', beOld, bin, 'serve'],
    stops: [
      ['first', 'SIGTERM'],
      ['first', 'SIGINT'],
      ['group', 'SIGTERM'],
      ['group', 'SIGINT'],
      ['first', 'SIGKILL'],
    ],
  },
  npx: {
    words: ['npx', 'openhisp', 'serve'],
    stops: [['first', 'SIGTERM']],
  },
  'npm start': {
    words: ['npm', 'start'],
    stops: [
      ['first', 'SIGTERM'],
      ['first', 'SIGKILL'],
      ['group', 'SIGTERM'],
      ['group', 'SIGINT'],
    ],
  },
};

describe('starts and signals', () => {
  let folder: TemporaryFolder;
  let data: string;

  before(async () => {
    folder = await createTemporaryFolder('signals');
    data = path.join(folder.path, 'data');
    await mkdir(path.join(folder.path, 'node_modules/.bin'), { recursive: true });
    await symlink(bin, path.join(folder.path, 'node_modules/.bin/openhisp'));
    await writeFile(
      path.join(folder.path, 'package.json'),
      JSON.stringify({
        scripts: { start: packageJson.scripts.start.replace(/node .*/, `node ${bin} serve`) },
      }),
    );
    const { status } = await runProgram(process.execPath, [bin, 'init', '--data-dir', data]);
    assert.equal(status, 0);
  });
  after(() => folder.remove());

  for (const [name, { words, stops }] of Object.entries(starts)) {
    for (const [whom, signal] of stops) {
      it(`${name}: ${signal} to the ${whom} closes it in order`, async () => {
        const run = await start(words);
        process.kill(whom === 'group' ? -run.pid : run.pid, signal);
        await waitFor(run.output, (text) => text.includes('stopped'));
        await waitFor(run.isAlive, (alive) => !alive);
        assert.match(run.output(), /stopping …\n(?:.*\n)*stopped\n/);
      });
    }
  }

  it('a second signal within the second is the same stop, and a later one ends at once', async () => {
    const { pid, output, isAlive } = await start([process.execPath, bin, 'serve']);
    process.kill(pid, 'SIGTERM');
    await waitFor(output, (text) => text.includes('stopping'));
    process.kill(pid, 'SIGTERM');
    await waitFor(isAlive, (alive) => !alive);
    assert.match(output(), /stopped\n/);
  });

  it('SIGHUP ends neither the starter nor the program', async () => {
    for (const name of ['node', 'an older node']) {
      const { pid, output, isAlive } = await start(starts[name]?.words ?? []);
      process.kill(-pid, 'SIGHUP');
      await waitFor(output, (text) => text.includes('SIGHUP changes nothing'));
      assert.ok(isAlive(), name);
      process.kill(-pid, 'SIGTERM');
      await waitFor(output, (text) => text.includes('stopped'));
    }
  });

  /** Without a terminal, as the leader of a process group, as a supervisor does it. */
  async function start(words: readonly string[]): Promise<{
    readonly pid: number;
    output(): string;
    isAlive(): boolean;
  }> {
    const child = endWithTests(
      spawn(words[0] ?? '', words.slice(1), {
        cwd: folder.path,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env['PATH'],
          HOME: folder.path,
          OPENHISP_DATA_DIR: data,
          OPENHISP_HTTP_PORT: '0',
          OPENHISP_SMTP_PORT: '0',
          OPENHISP_CONSOLE_PORT: '0',
        },
      }),
    );
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const pid = child.pid ?? 0;
    await waitFor(
      () => text,
      (now) => now.includes('API on'),
    );
    return { pid, output: () => text, isAlive: () => isGroupAlive(pid) };
  }
});

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
