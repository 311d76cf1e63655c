import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { runTestFiles, type TestFileResult } from '../../tools/run-test-file.ts';

// The limits below are meant as they are; needsOwnProcess for that.
process.env['OPENHISP_TEST_TIME_SCALE'] = '1';
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-hanging-'));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
const start = "import { spawn } from 'node:child_process';\nimport { test } from 'node:test';\n";

async function run(name: string, program: string, limitMs = 60_000): Promise<TestFileResult> {
  const file = path.join(folder, `${name.replaceAll(' ', '-')}.test.mjs`);
  writeFileSync(file, start + program);
  return runTestFiles([file], { cwd: folder, limitMs });
}

/** True if a process with this argument is running. */
const isRunning = (argument: string): boolean =>
  spawnSync('ps', ['-eo', 'stat,args'], { encoding: 'utf8' })
    .stdout.split('\n')
    .some((line) => line.includes(`sleep ${argument}`) && !line.startsWith('Z'));

describe('a file of tests', { concurrency: true }, () => {
  test('is counted by its tests, with every failure in full and every reason for skipping', async () => {
    const result = await run(
      'usual',
      "test('a', () => {}); test('b', () => { throw new Error('bad'); }); test('c', { skip: 'not here' }, () => {});",
    );
    assert.deepEqual([result.passed, result.failed, result.skipped], [1, 1, ['not here']]);
    assert.match(result.output, /FAILED .*usual\.test\.mjs: b\nError: bad/);
    assert.equal(result.hasHung, false);
  });

  for (const [what, program] of [
    ['loops', "test('a', () => {}); for (;;);"],
    ['is kept alive', "setInterval(() => {}, 1000); test('a', () => {});"],
    ['ignores the signal to end', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);"],
  ] as const)
    test(`that ${what} has failed when its limit is over`, async () => {
      const result = await run(what, program, 2500);
      assert.equal(result.failed, 1);
      assert.equal(result.hasHung, true);
      assert.match(result.output, /did not end within 2\.5 s/);
    });

  test('names the test that hangs', async () => {
    const result = await run(
      'named',
      "setInterval(() => {}, 1000); test('the one', () => new Promise(() => {}));",
      10_000,
    );
    assert.match(result.output, /FAILED .*: the one\n.*timed out/);
    assert.equal(result.hasHung, true);
  });

  test('leaves no process behind, however it ends, and has failed if it did', async () => {
    const child = (seconds: number) =>
      `spawn('sleep', ['${seconds}'], { stdio: 'inherit', detached: true }).unref();`;
    const left = await run('left', `${child(86_001)} test('a', () => {});`);
    assert.match(left.output, /left processes behind/);
    assert.equal(left.hasHung, true);
    const died = await run(
      'died',
      `${child(86_002)} test('a', async () => { await new Promise((r) => setTimeout(r, 200)); process.kill(process.pid, 'SIGKILL'); });`,
    );
    assert.match(died.output, /ended with SIGKILL/);
    const late = await run('late', `${child(86_003)} setInterval(() => {}, 1000);`, 2000);
    assert.equal(late.failed, 1);
    for (const seconds of ['86001', '86002', '86003']) assert.ok(!isRunning(seconds), seconds);
  });

  test('shares a process with others, and is named where one of its tests fails, or where it has none', async () => {
    const names = ['one', 'two', 'three'].map((name) => path.join(folder, `${name}.test.mjs`));
    const programs = [
      "before(() => (globalThis.seen = 1)); test('a', () => {});",
      "before(() => (globalThis.seen = 2)); test('b', () => { throw new Error(`seen ${globalThis.seen}`); });",
      '',
    ];
    for (const [at, name] of names.entries())
      writeFileSync(name, `import { before, test } from 'node:test';\n${programs[at]}`);
    const result = await runTestFiles(names, { cwd: folder, limitMs: 60_000 });
    assert.deepEqual([result.passed, result.failed], [1, 2]);
    assert.match(result.output, /FAILED two\.test\.mjs: b\nError: seen 2/);
    assert.match(result.output, /three\.test\.mjs\nIt ran no test/);
    assert.deepEqual(result.failedFiles, names);
  });

  test('has failed if it ends the process, as if all its tests had passed', async () => {
    const result = await run(
      'ended',
      "test('a', () => {}); test('b', async () => { await new Promise((r) => setTimeout(r, 200)); process.exit(0); }); test('c', () => {});",
    );
    assert.match(result.output, /ended before its tests/);
    assert.equal(result.failed, 1);
  });

  test('that runs no test, or cannot be read, has failed', async () => {
    assert.match((await run('empty', '')).output, /ran no test/);
    assert.ok((await run('broken', 'this is no program')).failed > 0);
  });
});
