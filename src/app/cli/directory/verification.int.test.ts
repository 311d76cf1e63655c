/**
 * `openhisp directory verification`: off at first, started and paused, what was found by source and by
 * domain.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../../../../test/support/run-command.ts';
import { createStatesForTest } from '../../../../test/verification/stored-states.ts';

let folder: string;
let env: Record<string, string>;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-verification-'));
  env = { OPENHISP_DATA_DIR: path.join(folder, 'data'), OPENHISP_OPERATOR: 'test' };
  await run('init');
});
after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

const run = async (...words: string[]): Promise<string> => (await runCommand(env, words)).out;

async function load(source: string, addresses: readonly string[]): Promise<void> {
  const file = path.join(folder, `${source}.csv`);
  await writeFile(file, ['serv_direct_addr', ...addresses, ''].join('\n'));
  await run('directory', 'import', '--source', source, file);
}

test('starts, pauses, and reports by source and by domain', async () => {
  assert.match(await run('directory', 'verification', 'status'), /^Verification is paused\.\nDomains: 0,/);
  await run('directory', 'verification', 'start');
  assert.match(await run('directory', 'verification', 'status'), /^Verification is running\./);
  assert.match(await run('audit', 'list'), /verification\.start/);
  await run('directory', 'verification', 'pause');
  assert.match(await run('directory', 'verification', 'status'), /^Verification is paused\./);

  await load('one', ['A@big.example', 'b@big.example', 'c@small.example']);
  await load('two', ['b@big.example', 'd@late.example']);
  await createStatesForTest(env['OPENHISP_DATA_DIR'] ?? '', [
    ['a@big.example', 'trusted', ''],
    ['b@big.example', 'discoverable', 'PKI_REVOKED'],
    ['c@small.example', 'trusted', ''],
  ]);
  const report = JSON.parse(await run('directory', 'verification', 'report', '--json')) as {
    sources: { source: string; addresses: number; counts: Record<string, number> }[];
    domains: { domain: string; counts: Record<string, number> }[];
  };
  const none = { expired: 0, 'no-certificate': 0, unreachable: 0 };
  assert.deepEqual(
    report.sources.map(({ source, addresses, counts }) => [source, addresses, counts]),
    [
      ['one', 3, { trusted: 2, discoverable: 1, ...none, unverified: 0 }],
      ['two', 2, { trusted: 0, discoverable: 1, ...none, unverified: 1 }],
    ],
  );
  assert.deepEqual(
    report.domains.map(({ domain, counts }) => [domain, counts['trusted'], counts['discoverable']]),
    [
      ['big.example', 1, 1],
      ['small.example', 1, 0],
    ],
  );
  assert.match(
    await run('directory', 'verification', 'report', '--domains', '1'),
    /^By source:\n {2}one: 3 addresses; trusted 2, discoverable 1\n {2}two: .*\nBy domain:\n {2}big\.example \(.*\n$/,
  );
  assert.match(await run('directory', 'verification', 'status'), /discoverable PKI_REVOKED: 1/);
});
