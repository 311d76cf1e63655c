/** How the program is started, and how it is told to stop: it closes in order and nothing is left running. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import packageJson from '../../package.json' with { type: 'json' };
import {
  createTemporaryFolder,
  endWithTests,
  findProgram,
  runProgram,
  type TemporaryFolder,
} from '../support/processes.ts';
import { waitFor } from './sandbox-fixture.ts';

const root = path.resolve(import.meta.dirname, '../..');
const beOld = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });`;

/** Of the processes between the first and the program, or all of its group. */
type Whom = 'first' | 'shell' | 'starter' | 'program' | 'group';
/** `closes`: in order. `stays`: goes on. `ends`: at once, and nothing is left. */
type Outcome = 'closes' | 'stays' | 'ends';
type Stop = readonly [Whom, NodeJS.Signals, Outcome];

interface Start {
  readonly words: readonly string[];
  readonly stops: readonly Stop[];
  readonly needs?: string;
}

const asSupervisors: readonly Stop[] = [
  ['first', 'SIGTERM', 'closes'],
  ['first', 'SIGINT', 'closes'],
  ['group', 'SIGTERM', 'closes'],
  ['group', 'SIGINT', 'closes'],
  ['group', 'SIGHUP', 'stays'],
  ['group', 'SIGQUIT', 'ends'],
  ['program', 'SIGTERM', 'closes'],
  ['program', 'SIGKILL', 'ends'],
];
const withParents: readonly Stop[] = [
  ...asSupervisors,
  ['first', 'SIGQUIT', 'closes'],
  ['first', 'SIGKILL', 'closes'],
];
/** npm itself takes no notice of SIGINT, which it expects the terminal to send to everybody. */
const withNpm: readonly Stop[] = [
  ...withParents.filter(([whom, signal]) => whom !== 'first' || signal !== 'SIGINT'),
  ['first', 'SIGHUP', 'closes'],
];
const starts: Readonly<Record<string, Start>> = {
  node: { words: ['node', 'node_modules/openhisp/bin/openhisp.js'], stops: asSupervisors },
  'an older node': {
    words: ['node', 'node_modules/.bin/openhisp-old'],
    stops: [...withParents, ['first', 'SIGHUP', 'stays']],
  },
  npx: {
    words: ['npx', 'openhisp'],
    stops: [...withNpm, ['shell', 'SIGKILL', 'closes']],
  },
  'npx of an older node': {
    words: ['npx', 'openhisp-old'],
    stops: [...withNpm, ['shell', 'SIGKILL', 'closes'], ['starter', 'SIGKILL', 'closes']],
  },
  'npm start': {
    words: ['npm', 'start'],
    stops: withNpm,
  },
  nohup: {
    words: ['nohup', 'node', 'node_modules/openhisp/bin/openhisp.js'],
    stops: [['group', 'SIGHUP', 'stays']],
  },
  'nohup of npx': { words: ['nohup', 'npx', 'openhisp'], stops: [['group', 'SIGHUP', 'stays']] },
  'a terminal that closes': {
    words: ['script', '-qefc', 'exec node node_modules/openhisp/bin/openhisp.js', '/dev/null'],
    stops: [['first', 'SIGKILL', 'closes']],
    needs: 'script',
  },
  'a terminal that closes around npx': {
    words: ['script', '-qefc', 'npx openhisp-old', '/dev/null'],
    stops: [['first', 'SIGKILL', 'closes']],
    needs: 'script',
  },
  'process 1 of a container': {
    words: ['unshare', '-pf', '--mount-proc', 'node', 'node_modules/openhisp/bin/openhisp.js'],
    stops: [['program', 'SIGTERM', 'closes']],
    needs: 'unshare',
  },
};

describe('starts and signals', { concurrency: 3 }, () => {
  let folder: TemporaryFolder;
  let count = 0;

  before(async () => {
    folder = await createTemporaryFolder('signals');
    const modules = path.join(folder.path, 'node_modules');
    const installed = path.join(modules, 'openhisp');
    await mkdir(path.join(modules, '.bin'), { recursive: true });
    await mkdir(path.join(installed, 'dist/program'), { recursive: true });
    await cp(path.join(root, 'bin'), path.join(installed, 'bin'), { recursive: true });
    const type = { type: 'module' };
    await writeFile(path.join(installed, 'package.json'), JSON.stringify(type));
    const scripts = { start: packageJson.scripts.start.replace('bin/', 'node_modules/openhisp/bin/') };
    await writeFile(path.join(folder.path, 'package.json'), JSON.stringify({ ...type, scripts }));
    const child = path.join(import.meta.dirname, 'signals-child.ts');
    await writeFile(path.join(installed, 'dist/program/main.js'), `await import(${JSON.stringify(child)});`);
    await symlink(process.execPath, path.join(modules, '.bin/node'));
    await symlink('../openhisp/bin/openhisp.js', path.join(modules, '.bin/openhisp'));
    const old = `#!/usr/bin/env node\n${beOld}\nawait import('../openhisp/bin/openhisp.js');\n`;
    await writeFile(path.join(modules, '.bin/openhisp-old'), old, { mode: 0o755 });
  });
  after(() => folder.remove());

  for (const [name, { words, stops, needs }] of Object.entries(starts)) {
    const skip = needs !== undefined && findProgram(needs) === undefined ? `no ${needs}` : false;
    for (const [whom, signal, outcome] of stops) {
      it(`${name}: after ${signal} to the ${whom} it ${outcome}`, { skip }, async (t) => {
        if (needs === 'unshare' && (await runProgram('unshare', ['-pf', 'true'])).status !== 0)
          return t.skip('no namespaces here');
        const run = await start(words);
        t.after(run.kill);
        run.send(whom, signal);
        if (outcome === 'stays') {
          await waitFor(run.facts, (text) => text.includes('SIGHUP changes nothing'));
          // Longer than it takes to find its parents gone.
          await wait(1_200);
          assert.doesNotMatch(run.facts(), /stopping/);
          run.send('program', 'SIGTERM');
        }
        if (outcome !== 'ends') await waitFor(run.facts, (text) => text.includes('stopped'));
        await waitFor(run.isAlive, (alive) => !alive);
        assert.equal(run.facts().includes('stopping'), outcome !== 'ends');
      });
    }
  }

  it('a second signal within the second is the same stop, to a process or to the group', async (t) => {
    for (const whom of ['program', 'group'] as const) {
      const run = await start(starts['an older node']?.words ?? [], 600);
      t.after(run.kill);
      run.send(whom, 'SIGTERM');
      await waitFor(run.facts, (text) => text.includes('stopping'));
      run.send(whom, 'SIGTERM');
      await waitFor(run.isAlive, (alive) => !alive);
      assert.match(run.facts(), /stopped\n/);
    }
  });

  it('a second signal a second later ends it at once', async (t) => {
    const run = await start(starts['an older node']?.words ?? [], 60_000);
    t.after(run.kill);
    run.send('group', 'SIGINT');
    await waitFor(run.facts, (text) => text.includes('stopping'));
    await wait(1_200);
    run.send('group', 'SIGINT');
    await waitFor(run.isAlive, (alive) => !alive);
    assert.doesNotMatch(run.facts(), /stopped\n/);
  });

  it('a whole installation that npx has started stops in order when npx is killed', async () => {
    const data = path.join(folder.path, 'data');
    const bin = path.join(root, 'bin/openhisp.js');
    assert.equal((await runProgram(process.execPath, [bin, 'init', '--data-dir', data])).status, 0);
    const whole = path.join(folder.path, 'whole/node_modules/.bin');
    await mkdir(whole, { recursive: true });
    await symlink(bin, path.join(whole, 'openhisp'));
    let text = '';
    const child = spawnIn(['npx', 'openhisp', 'serve'], path.join(folder.path, 'whole'), {
      OPENHISP_DATA_DIR: data,
      OPENHISP_HTTP_PORT: '0',
      OPENHISP_SMTP_PORT: '0',
      OPENHISP_CONSOLE_PORT: '0',
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await waitFor(
      () => text,
      (now) => now.includes('API on'),
    );
    child.kill('SIGKILL');
    await waitFor(
      () => text,
      (now) => now.includes('stopped'),
    );
    await waitFor(
      () => isGroupAlive(child.pid ?? 0),
      (alive) => !alive,
    );
    const checkpoints = await readFile(path.join(data, 'audit-checkpoints.jws'), 'utf8');
    assert.ok(checkpoints.trim().split('\n').length >= 1);
  });

  interface Run {
    /** What the program noted. */
    facts(): string;
    send(whom: Whom, signal: NodeJS.Signals): void;
    isAlive(): boolean;
    kill(): void;
  }

  /** Without a terminal, as the leader of a process group, as a supervisor does it. */
  async function start(words: readonly string[], closeMs = 100): Promise<Run> {
    const facts = path.join(folder.path, `facts-${++count}`);
    await writeFile(facts, '');
    const child = spawnIn(words, folder.path, { FACTS: facts, CLOSE_MS: String(closeMs) });
    const first = child.pid ?? 0;
    const text = (): string => readFileSync(facts, 'utf8');
    const started = await waitFor(text, (now) => /pid \d+\n/.test(now));
    const links = listLinks(first, Number(/pid (\d+)/.exec(started)?.[1]));
    return {
      facts: text,
      send(whom, signal) {
        if (whom === 'group') return void process.kill(-first, signal);
        const pid = { first, program: links[0], starter: links[1], shell: links.at(-2) }[whom];
        process.kill(pid ?? 0, signal);
      },
      kill() {
        for (const pid of links) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      },
      isAlive: () => isGroupAlive(first) || links.some((pid) => isAlive(pid)),
    };
  }

  function spawnIn(words: readonly string[], cwd: string, env: Record<string, string>) {
    const { PATH = '' } = process.env;
    return endWithTests(
      spawn(words[0] ?? '', words.slice(1), {
        cwd,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: `${path.dirname(process.execPath)}:${PATH}`, HOME: folder.path, ...env },
      }),
    );
  }
});

/** The program, its parent and so on, up to the first process. */
function listLinks(first: number, program: number): readonly number[] {
  const seen = program === 1 ? findInner(first) : program;
  const links = [seen];
  for (let pid = seen; pid !== first && pid > 1;) {
    pid = parentOf(pid);
    links.push(pid);
  }
  return links;
}

/** The child of a process, as it is numbered outside of the child's namespace. */
function findInner(first: number): number {
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function isAlive(pid: number): boolean {
  try {
    // Nobody may take the exit code of what has lost its parent here.
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
