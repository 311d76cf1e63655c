/**
 * Every command of the program, found by walking it: none guesses an installation, none but `init` creates
 * one.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listAll, runCommand, type CommandRun } from '../../../test/support/run-command.ts';
import type { Command } from 'commander';
import { createTestDatabase } from '../../../test/support/storage.ts';
import { errorText } from '../../core/index.ts';
import { createCliContext } from './context.ts';
import { createWholeProgram } from './create-program.ts';

/** Commands that need no installation, and the two that create one. */
const without = new Set([
  'init',
  'sandbox',
  'key csr',
  'bundle write',
  'evidence verify',
  'audit verify-checkpoints',
]);
const isWithout = (name: string): boolean => without.has(name) || name.startsWith('agent ');

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-every-command-'));
const empty = path.join(folder, 'empty');
const work = path.join(folder, 'work');
const startedIn = process.cwd();

interface Run {
  readonly problem: string;
  readonly out: string;
  readonly isRefused: boolean;
}

async function run(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  try {
    const { out, note, exitCode } = await runCommand({ ...env, OPENHISP_OPERATOR: 'test' }, words);
    return { problem: note + out, out, isRefused: exitCode === 1 };
  } catch (error) {
    const { out, note } = error as Error & CommandRun;
    return { problem: note + errorText(error), out, isRefused: true };
  }
}

/**
 * Words of a call with everything that is required: each argument is `1`, which is a file, a number and a
 * name.
 */
function wordsOf(command: Command): string[] {
  const names: string[] = [];
  for (let one: Command | null = command; one?.parent; one = one.parent) names.unshift(one.name());
  const options = command.options.filter(({ mandatory }) => mandatory);
  return [
    ...names,
    ...command.registeredArguments
      .filter(({ required }) => required)
      .map((argument) => (argument.name() === 'right' ? 'open' : '1')),
    ...options.flatMap(({ long, flags }) => [long ?? flags, valueOf(flags)]),
  ];
}

function valueOf(flags: string): string {
  if (!flags.endsWith('<time>')) return '1';
  return flags.startsWith('--from') ? '2026-01-01' : '2026-01-02';
}

describe('every command', () => {
  let commands: (readonly [name: string, words: readonly string[]])[] = [];

  before(async () => {
    for (const name of [empty, work]) mkdirSync(name);
    writeFileSync(path.join(work, '1'), '1');
    // The state that an older program would have left.
    mkdirSync(path.join(work, 'data/sandbox/hisp'), { recursive: true });
    process.chdir(work);
    const context = createCliContext({ env: {}, stdout: { write: () => {} }, stderr: { write: () => {} } });
    commands = listAll(await createWholeProgram(context))
      .filter((command) => command.parent !== null && command.commands.length === 0)
      .map((command) => {
        const words = wordsOf(command);
        const names = words.slice(0, words.findIndex((word) => word === '1' || word.startsWith('--')) >>> 0);
        return [names.join(' '), words] as const;
      });
  });
  after(() => {
    process.chdir(startedIn);
    rmSync(folder, { recursive: true, maxRetries: 5 });
  });

  test('is found by the walk', () => {
    const names = commands.map(([name]) => name);
    assert.ok(names.length > 50, names.join(', '));
    for (const name of ['serve', 'backup', 'doctor', 'queue list', 'storage copy', 'vault rotate-data-key'])
      assert.ok(names.includes(name), `${name} in ${names.join(', ')}`);
  });

  test('without a named installation ends with 1, names the remedy and creates nothing', async () => {
    for (const [name, words] of commands.filter(([one]) => !isWithout(one))) {
      const { problem, isRefused } = await run(words, {});
      assert.ok(isRefused, name);
      assert.match(problem, /No installation is named\. Add --data-dir FOLDER/, name);
    }
    assert.deepEqual(readdirSync(work, { recursive: true }).map(String).sort(), [
      '1',
      'data',
      'data/sandbox',
      'data/sandbox/hisp',
    ]);
  });

  test('in a folder without installation ends with 1, names the folder and leaves it empty', async () => {
    for (const [name, words] of commands.filter(([one]) => !isWithout(one))) {
      const { problem, isRefused } = await run(words, { OPENHISP_DATA_DIR: empty });
      assert.ok(isRefused, name);
      assert.ok(problem.includes(empty), `${name}: ${problem}`);
      assert.deepEqual(readdirSync(empty), [], name);
    }
  });

  test('a lost master key is an error that names the setting, of commands and of the server; no new one is written', async () => {
    const dataDir = path.join(folder, 'keyless');
    const env = { OPENHISP_DATA_DIR: dataDir };
    assert.equal((await run(['init'], env)).isRefused, false);
    const [key, kept, copy] = [
      path.join(dataDir, 'master.key'),
      path.join(folder, 'kept'),
      path.join(folder, 'copy'),
    ];
    renameSync(key, kept);
    for (const words of [['serve'], ['backup', copy], ['domain', 'list']]) {
      const { isRefused, problem, out } = await run(words, env);
      assert.deepEqual([isRefused, out], [true, ''], words.join(' '));
      assert.ok(problem.includes(`vault.masterKeyFile: cannot read ${key}`), problem);
    }
    assert.ok(!existsSync(key) && !existsSync(copy));
    renameSync(kept, key);
    assert.equal((await run(['domain', 'list'], env)).isRefused, false);
  });

  test('a database of before the first release is refused by one line, and left as it is', async () => {
    const database = await createTestDatabase();
    const { file, url } = database.location;
    await database.runRaw(`
      create table schema_migration (name text primary key, applied_at bigint not null);
      insert into schema_migration values ('0001-platform', 1), ('0094-dead-letter-index', 2)`);
    const dataDir = path.join(folder, 'earlier');
    mkdirSync(dataDir);
    writeFileSync(path.join(dataDir, 'node-id'), 'earlier');
    const env = {
      OPENHISP_DATA_DIR: dataDir,
      ...(url === undefined ? { OPENHISP_STORAGE_FILE: file ?? '' } : { OPENHISP_STORAGE_URL: url }),
    };
    const refusal = /the database was made by .* Start afresh with an empty database: /;
    // The others refuse their arguments first.
    const told = new Set<string>();
    for (const [name, words] of commands.filter(([one]) => !isWithout(one))) {
      const { problem, isRefused } = await run(words, env);
      assert.ok(isRefused, name);
      if (refusal.test(problem)) told.add(name);
    }
    for (const name of ['serve', 'doctor', 'backup', 'client list', 'queue list', 'audit verify'])
      assert.ok(told.has(name), `${name} is not in ${[...told].join(', ')}`);
    if (url === undefined) {
      const to = ['--to', 'postgres://nobody@127.0.0.1:1/none'];
      assert.match((await run(['storage', 'copy', ...to], env)).problem, refusal);
    }
    const storage = await database.open();
    const db = storage.tables<{ schema_migration: { name: string }; data_key: { id: string } }>();
    const steps = await db.selectFrom('schema_migration').select('name').orderBy('name').execute();
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['0001-platform', '0094-dead-letter-index'],
    );
    await assert.rejects(db.selectFrom('data_key').select('id').execute());
    await storage.close();
  });

  test('says on standard error which installation it works on', async () => {
    const dataDir = path.join(folder, 'one');
    const env = { OPENHISP_DATA_DIR: dataDir };
    assert.equal((await run(['init'], env)).isRefused, false);
    for (const words of [
      ['domain', 'list'],
      ['audit', 'verify'],
      ['doctor', '--timeout', '0.1', '--time-server', '127.0.0.1:1'],
      ['storage', 'compare', '--to', 'postgres://nobody@127.0.0.1:1/none'],
    ])
      assert.match(
        (await run(words, env)).problem,
        new RegExp(`^Installation: ${dataDir}$`, 'm'),
        words.join(' '),
      );
  });
});
