import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { bareEnvironment, endWithTests, freePort, waitUntil } from '../../../test/support/processes.ts';
import { loadConfig } from '../../platform/index.ts';
import { isInstalled } from './find-installation.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-installation-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly note: string;
}

/** Runs the program in the test's folder, where nothing must appear by itself. */
async function run(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = folder,
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<Run> {
  const child = endWithTests(
    spawn(process.execPath, [path.join(root, 'bin/openhisp.js'), ...words], {
      cwd,
      env: bareEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user,
    }),
  );
  let [out, note] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (note += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, note };
}

describe('the installation that commands work on', () => {
  test('is never guessed: without a name every command ends with 1, names the remedy and creates nothing', async () => {
    const empty = path.join(folder, 'empty');
    // The files of a sandbox and of an older installation.
    for (const name of ['data/sandbox/hisp', 'data/hisp'])
      mkdirSync(path.join(empty, name), { recursive: true });
    for (const words of [
      ['init'],
      ['backup', 'b.db'],
      ['domain', 'add', 'direct.example.org'],
      ['audit', 'verify'],
      ['directory', 'status'],
      ['serve'],
    ]) {
      const { code, note, out } = await run(words, { DATA_DIR: path.join(empty, 'data') }, empty);
      assert.equal(code, 1, words.join(' '));
      assert.equal(out, '');
      assert.match(note, /^No installation is named\. Add --data-dir FOLDER, or set OPENHISP_DATA_DIR/);
    }
    assert.deepEqual(readdirSync(empty, { recursive: true }).map(String).sort(), [
      'data',
      'data/hisp',
      'data/sandbox',
      'data/sandbox/hisp',
    ]);
  });

  test('a folder without one is refused by every command but init, and stays empty', async () => {
    const nothing = path.join(folder, 'nothing');
    mkdirSync(nothing);
    for (const words of [['backup', 'b.db'], ['domain', 'list'], ['serve'], ['audit', 'list']]) {
      const { code, note } = await run([...words, '--data-dir', nothing]);
      assert.equal(code, 1, words.join(' '));
      assert.match(note, new RegExp(`^There is no installation in ${nothing}\\..*openhisp init --data-dir`));
    }
    assert.deepEqual(readdirSync(nothing), []);
  });

  test('is created by init, once, and named by option, environment or configuration file', async () => {
    const dataDir = path.join(folder, 'one');
    const made = await run(['init', '--data-dir', dataDir]);
    assert.equal(made.code, 0, made.note);
    assert.equal(made.out, `${dataDir}\n`);
    for (const name of ['openhisp.db', 'master.key', 'node-id'])
      assert.ok(existsSync(path.join(dataDir, name)));
    const again = await run(['init', '--data-dir', dataDir]);
    assert.equal(again.code, 1);
    assert.match(again.note, /already exists in/);
    assert.equal((await run(['init', '--exist-ok', '--data-dir', dataDir])).code, 0);

    const added = await run(['--data-dir', 'one', 'domain', 'add', 'direct.example.org']);
    assert.equal(added.code, 0);
    assert.match(
      added.note,
      /^Installation: .*one\nNext: openhisp key csr direct\.example\.org, then key import/,
    );
    // Some editors begin a file with a byte order mark.
    writeFileSync(path.join(folder, 'hisp.json'), `\ufeff${JSON.stringify({ dataDir: 'one' })}`);
    const elsewhere = { OPENHISP_DATA_DIR: path.join(folder, 'elsewhere') };
    for (const [words, env] of [
      [['domain', 'list', `--data-dir=${dataDir}`], elsewhere],
      [['domain', 'list'], { OPENHISP_DATA_DIR: dataDir }],
      [['--config', 'hisp.json', 'domain', 'list'], {}],
      [['domain', 'list'], { OPENHISP_CONFIG: path.join(folder, 'hisp.json') }],
    ] as const) {
      const listed = await run(words, env);
      assert.deepEqual(
        [listed.code, listed.out, listed.note],
        [0, 'direct.example.org\n', `Installation: ${dataDir}\n`],
      );
    }
  });

  test('a folder that the user may not enter is not called empty', async (t) => {
    const dataDir = path.join(folder, 'closed');
    const made = await run(['init', '--data-dir', dataDir]);
    assert.equal(made.code, 0, made.note);
    // Root enters every folder, so it runs the command as another user.
    const isRoot = process.getuid?.() === 0;
    chmodSync(folder, 0o755);
    if (!isRoot) chmodSync(dataDir, 0);
    t.after(() => chmodSync(dataDir, 0o700));
    const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
    for (const words of [['domain', 'list'], ['doctor']]) {
      const { code, note, out } = await run(
        [...words, '--data-dir', dataDir],
        { OPENHISP_OPERATOR: 'x' },
        '/',
        user,
      );
      assert.equal(code, 1);
      assert.match(note + out, /no permission for the user /);
      assert.doesNotMatch(note + out, /no installation|openhisp init/i);
    }
  });

  test('works for a user without a name, as a container may have; the trail has the number', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('needs to change the user');
    const [uid, gid] = [54_321, 54_321];
    const dataDir = path.join(folder, 'nameless');
    mkdirSync(dataDir);
    chownSync(dataDir, uid, gid);
    chmodSync(folder, 0o755);
    const made = await run(['init', '--data-dir', dataDir], {}, '/', { uid, gid });
    assert.equal(made.code, 0, made.note);
    for (const words of [
      ['domain', 'add', 'direct.example.org'],
      ['audit', 'list', '--action', 'domain.add'],
    ]) {
      const { code, note, out } = await run([...words, '--data-dir', dataDir], {}, '/', { uid, gid });
      assert.equal(code, 0, note);
      if (words[0] === 'audit') assert.match(out, /"actor":"operator:uid 54321"/);
    }
  });

  test('a file in the place of the folder is named as one', async () => {
    const { code, note } = await run(['domain', 'list', '--data-dir', path.join(folder, 'hisp.json')]);
    assert.equal(code, 1);
    assert.match(note, /hisp\.json.*: a part of the path is not a folder/);
  });

  test('a database that cannot be opened is named', async () => {
    const dataDir = path.join(folder, 'damaged');
    assert.equal((await run(['init', '--data-dir', dataDir])).code, 0);
    const file = path.join(dataDir, 'openhisp.db');
    writeFileSync(file, 'no database, and long enough to be read as one'.repeat(20));
    const { code, note } = await run(['domain', 'list', '--data-dir', dataDir]);
    assert.equal(code, 1);
    assert.match(
      note,
      new RegExp(
        `^${file} cannot be opened: file is not a database\\. Keep the file, and restore a backup: `,
        'm',
      ),
    );
  });

  test('audit list ends without an error when its output is closed, as before "| head -1"', async () => {
    const child = endWithTests(
      spawn(
        '/bin/sh',
        [
          '-c',
          '"$0" "$1" audit list --all --data-dir one | true; exit 0',
          process.execPath,
          path.join(root, 'bin/openhisp.js'),
        ],
        { cwd: folder, env: bareEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] },
      ),
    );
    let note = '';
    child.stderr.on('data', (chunk: Buffer) => (note += chunk.toString()));
    await once(child, 'close');
    assert.equal(note, `Installation: ${path.join(folder, 'one')}\n`);
  });

  test('a command does its work when nobody reads its notes, as before "2>&1 | head -1"', async () => {
    const command = '"$0" "$1" domain add unread.example.org --data-dir one 2>&1 | true';
    const words = ['-c', command, process.execPath, path.join(root, 'bin/openhisp.js')];
    const child = endWithTests(
      spawn('/bin/sh', words, { cwd: folder, env: bareEnvironment(), stdio: 'ignore' }),
    );
    await once(child, 'close');
    assert.match((await run(['domain', 'list', '--data-dir', 'one'])).out, /^unread\.example\.org$/m);
  });

  test('a full disk under the output is named, without a stack', async () => {
    const full = openSync('/dev/full', 'w');
    const child = endWithTests(
      spawn(process.execPath, [path.join(root, 'bin/openhisp.js'), 'domain', 'list', '--data-dir', 'one'], {
        cwd: folder,
        env: bareEnvironment(),
        stdio: ['ignore', full, 'pipe'],
      }),
    );
    let note = '';
    child.stderr?.on('data', (chunk: Buffer) => (note += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    closeSync(full);
    assert.equal(code, 1);
    assert.match(
      note,
      /^Installation: .*\nStandard output cannot be written, and lines are lost: ENOSPC.*\n$/,
    );
  });

  test('a configuration file that does not say where it is names none', async () => {
    writeFileSync(path.join(folder, 'nowhere.json'), JSON.stringify({ log: { level: 'warn' } }));
    const { code, note } = await run(['domain', 'list', '--config', 'nowhere.json']);
    assert.equal(code, 1);
    assert.match(note, /^No installation is named/);
  });

  test('with PostgreSQL the master key alone is none: a further node gets it before init', () => {
    const dataDir = path.join(folder, 'further');
    const config = loadConfig({ OPENHISP_STORAGE_URL: 'postgres://127.0.0.1/none' }, undefined, { dataDir });
    mkdirSync(dataDir);
    writeFileSync(path.join(dataDir, 'master.key'), '');
    assert.equal(isInstalled(config), false);
    // A file of SQLite was copied, perhaps from a backup on a new machine.
    for (const name of ['node-id', 'openhisp.db']) {
      writeFileSync(path.join(dataDir, name), '');
      assert.equal(isInstalled(config), true);
      rmSync(path.join(dataDir, name));
    }
  });

  test("an empty database file, or another program's, does not become an installation", async () => {
    const dataDir = path.join(folder, 'restored');
    const file = path.join(dataDir, 'openhisp.db');
    mkdirSync(dataDir);
    writeFileSync(path.join(dataDir, 'master.key'), randomBytes(32).toString('base64'));
    const foreign = path.join(folder, 'foreign.db');
    const database = new SqliteDatabase(foreign);
    database.exec('create table thing (id text)');
    database.close();
    for (const content of [Buffer.alloc(0), readFileSync(foreign)]) {
      writeFileSync(file, content);
      for (const words of [['verify'], ['serve'], ['domain', 'list']]) {
        const { code, note, out } = await run([...words, '--data-dir', dataDir]);
        assert.equal(code, 1, words.join(' '));
        assert.match(
          out + note,
          /openhisp\.db contains no installation: it is empty, or .* Restore a backup/,
        );
      }
      assert.deepEqual(readFileSync(file), content);
    }
    assert.deepEqual(readdirSync(dataDir).toSorted(), ['master.key', 'openhisp.db']);
  });

  test('a failed init leaves nothing that counts as an installation', async () => {
    const dataDir = path.join(folder, 'failed');
    const { code, note } = await run(['init', '--data-dir', dataDir], { OPENHISP_MASTER_KEY: 'short' });
    assert.equal(code, 1);
    assert.match(note, /master key/);
    assert.equal((await run(['init', '--data-dir', dataDir])).code, 0);
  });
});

test('serve tells systemd that it is ready when it answers, and works without systemd-notify', async (t) => {
  const dataDir = path.join(folder, 'ready');
  const programs = path.join(folder, 'programs');
  const told = path.join(folder, 'told');
  assert.equal((await run(['init', '--data-dir', dataDir])).code, 0);
  mkdirSync(programs);
  const serve = async (port: number) => {
    const settings = {
      PATH: programs,
      NOTIFY_SOCKET: '/run/of-a-manager',
      OPENHISP_DATA_DIR: dataDir,
      OPENHISP_HTTP_PORT: String(port),
      OPENHISP_SMTP_PORT: '0',
      OPENHISP_CONSOLE_IS_SERVING: 'false',
      OPENHISP_DIRECTORY_SEARCH_THREADS: '0',
      OPENHISP_SMPT_HOSTNAME: 'mx.direct.example.org',
    };
    const child = endWithTests(
      spawn(process.execPath, [path.join(root, 'bin/openhisp.js'), 'serve'], {
        env: bareEnvironment(settings),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    let [out, note] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (note += chunk.toString()));
    t.after(() => child.kill('SIGTERM'));
    return { child, output: () => out, notes: () => note };
  };

  const without = await freePort();
  const first = await serve(without);
  await waitUntil(() => first.output().includes('systemd could not be told'), { timeoutMs: 30_000 });
  assert.equal((await fetch(`http://127.0.0.1:${without}/health/live`)).status, 200);
  assert.match(first.output(), /"variable":"OPENHISP_SMPT_HOSTNAME","msg":"a variable looks like a setting/);
  // Without a terminal the signal ends nothing: systemd would not start the service again.
  first.child.kill('SIGHUP');
  await waitUntil(() => first.notes().includes('SIGHUP changes nothing'));
  assert.equal((await fetch(`http://127.0.0.1:${without}/health/live`)).status, 200);
  first.child.kill('SIGTERM');
  await once(first.child, 'close');

  writeFileSync(path.join(programs, 'systemd-notify'), `#!/bin/sh\necho "$@ $NOTIFY_SOCKET" >> ${told}\n`, {
    mode: 0o755,
  });
  const port = await freePort();
  await serve(port);
  await waitUntil(() => existsSync(told), { timeoutMs: 30_000 });
  assert.equal((await fetch(`http://127.0.0.1:${port}/health/live`)).status, 200);
  assert.equal(readFileSync(told, 'utf8'), '--ready --status=serves /run/of-a-manager\n');
});

test('serve goes on when its log cannot be written any more', async (t) => {
  const dataDir = path.join(folder, 'unlogged');
  assert.equal((await run(['init', '--data-dir', dataDir])).code, 0);
  const port = await freePort();
  const settings = {
    OPENHISP_DATA_DIR: dataDir,
    OPENHISP_HTTP_PORT: String(port),
    OPENHISP_SMTP_PORT: '0',
    OPENHISP_CONSOLE_IS_SERVING: 'false',
    OPENHISP_DIRECTORY_SEARCH_THREADS: '0',
    OPENHISP_LOG_LEVEL: 'debug',
    // Makes a line of the log at the start.
    OPENHISP_SMPT_HOSTNAME: 'mx.direct.example.org',
  };
  const full = openSync('/dev/full', 'w');
  const child = endWithTests(
    spawn(process.execPath, [path.join(root, 'bin/openhisp.js'), 'serve'], {
      env: bareEnvironment(settings),
      stdio: ['ignore', full, 'pipe'],
    }),
  );
  t.after(() => child.kill('SIGTERM'));
  closeSync(full);
  let note = '';
  child.stderr?.on('data', (chunk: Buffer) => (note += chunk.toString()));
  await waitUntil(() => note.includes('API on '), { timeoutMs: 30_000 });
  const findNotes = () => note.match(/Standard output cannot be written, and lines are lost: ENOSPC/g);
  assert.equal(findNotes()?.length, 1);
  // Another line of the log, which is told no more.
  assert.equal((await fetch(`http://127.0.0.1:${port}/health/live`)).status, 200);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
  assert.equal(findNotes()?.length, 1);
});
