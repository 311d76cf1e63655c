/** What a command loads before it does anything: in modules, not in seconds, which depend on the machine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createCliContext } from './context.ts';
import { createProgram, createWholeProgram, findCommand } from './create-program.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const counter = `data:text/javascript,
  import { registerHooks } from 'node:module';
  const seen = [];
  registerHooks({ load(url, context, next) { if (url.startsWith('file:')) seen.push(url); return next(url, context); } });
  process.on('exit', () => console.error(JSON.stringify(seen)));`;

const modulesOf = (...words: string[]): readonly string[] =>
  loadedBy(path.join(root, 'bin/openhisp.js'), ...words);

function loadedBy(...program: string[]): readonly string[] {
  const options = ['--import', counter, ...program];
  const { stderr } = spawnSync(process.execPath, options, { encoding: 'utf8', cwd: root });
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as string[];
}

test('--version, --help and a wrong word load no command, and a command not those of others', () => {
  for (const words of [['--version'], ['--help'], ['help'], [], ['clinet'], ['--as', 'jo', '--help']]) {
    const loaded = modulesOf(...words);
    const services = loaded.filter((url) => /\/src\/(?:service|app\/(?!cli\/))/.test(url));
    assert.ok(loaded.length < 100, `${words.join(' ')}: ${loaded.length} modules`);
    assert.deepEqual(services, [], words.join(' '));
  }
  const client = modulesOf('--as', 'jo', 'client', '--help');
  for (const other of [
    'service/messaging',
    'service/trust',
    'app/server',
    'node_modules/undici',
    'prom-client',
  ])
    assert.deepEqual(
      client.filter((url) => url.includes(`/${other}/`)),
      [],
      other,
    );
});

/** What composes, builds and searches indexes, serves: a command that reads rows loads none of it. */
const heavy =
  /\/(?:lib\/provider-index|service\/verification|create-(?:messaging|directory|verification)|import-directory|app\/http|app\/console|node_modules\/(?:undici|prom-client|fastify|pino))\b/;

test('a command that reads rows loads nothing that serves, searches or composes', () => {
  for (const words of [['doctor'], ['verify'], ['usage'], ['evidence'], ['directory'], ['message']]) {
    const loaded = modulesOf(...words, '--help');
    assert.ok(
      loaded.some((url) => url.includes('/src/service/')),
      words.join(' '),
    );
    assert.deepEqual(
      loaded.filter((url) => heavy.test(url)),
      [],
      words.join(' '),
    );
  }
});

test('what reads the directory, its verification and records of a domain loads no messages and no discovery', () => {
  const load = (file: string) => loadedBy('--eval', `await import('./src/${file}')`);
  for (const [name, loaded] of [
    ['directory', modulesOf('directory', '--help')],
    ['verification', load('service/verification/index.ts')],
    ['domain records', load('app/doctor/index.ts')],
  ] as const)
    assert.deepEqual(
      loaded.filter((url) => /\/(?:lib\/direct|service\/(?:agent|messaging|hosting))\//.test(url)),
      [],
      name,
    );
});

test('the threads of a command load what was compiled before', () => {
  const show = `process.on('exit', () => console.error(process.env.NODE_COMPILE_CACHE))`;
  const options = [
    '--import',
    `data:text/javascript,${show}`,
    path.join(root, 'bin/openhisp.js'),
    '--version',
  ];
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { stderr } = spawnSync(process.execPath, options, { encoding: 'utf8', env });
  assert.equal(stderr.trim(), path.join(userInfo().homedir, '.cache/openhisp'));
});

test('the list of all commands says what each says of itself', async () => {
  const output = { write: () => true };
  const context = createCliContext({ env: {}, stdout: output, stderr: output });
  const listed = await createProgram(context, {});
  const loaded = await createWholeProgram(context);
  const commandsOf = (text: string) => text.slice(text.indexOf('Commands:'));
  assert.equal(commandsOf(listed.helpInformation()), commandsOf(loaded.helpInformation()));
});

test('global options come before the command, in both forms', () => {
  for (const words of [
    ['client', 'list'],
    ['--as', 'jo', 'client'],
    ['--as=jo', '--data-dir', 'x', 'client'],
    ['help', 'client'],
  ])
    assert.equal(findCommand(words), 'client');
});
