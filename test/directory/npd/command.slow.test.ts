/** `openhisp directory import --format npd`, as typed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { LoadReport } from '../../../src/service/directory/index.ts';
import { listLoads } from '../../../src/service/directory/index.ts';
import { startTestDirectory, toCsv, type TestDirectory } from '../start-directory.ts';
import { endpoint, writeLines } from './release-files.ts';
import { startReleaseServer, type ReleaseServer } from './release-server.ts';
import { createDeadline } from '../../support/time-scale.ts';

let world: TestDirectory;
let folder: string;
let server: ReleaseServer;

before(async () => {
  world = await startTestDirectory({ pollIntervalMs: 100 });
  await world.load(toCsv([{ serv_direct_addr: 'old@d.example' }]));
  folder = path.join(world.folder, 'release');
  await writeLines(folder, { Endpoint: [endpoint('a', 'a@d.example'), endpoint('b', 'b@d.example')] });
  server = await startReleaseServer(folder);
});
after(async () => {
  await server.close();
  await world.close();
});

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const { location } = world.database;
  const storage: NodeJS.ProcessEnv =
    location.url === undefined
      ? { OPENHISP_STORAGE_FILE: location.file }
      : { OPENHISP_STORAGE_URL: location.url };
  const cli = path.join(import.meta.dirname, '../run-cli.ts');
  const child = spawn(process.execPath, [cli, 'directory', 'import', '--format', ...args], {
    env: {
      ...process.env,
      OPENHISP_DATA_DIR: world.folder,
      OPENHISP_OPERATOR: 'test',
      OPENHISP_ADMISSION_MIN_FREE_DISK_BYTES: '0',
      ...storage,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, errors };
}

const ownServer = {
  OPENHISP_DIRECTORY_ALLOWS_PRIVATE_TARGETS: 'true',
  OPENHISP_DIRECTORY_DOWNLOAD_HOSTS: 'localhost',
};

async function untilServed(address: string): Promise<void> {
  const deadline = createDeadline(30_000);
  for (;;) {
    const { body } = await world.search({ serv_direct_addr: address });
    if (body.totalCount !== '0') return;
    assert.ok(!deadline.isOver(), `${address} is not served`);
  }
}

test('refuses private addresses, unnamed hosts and invalid values, and changes nothing', async () => {
  const refusals: readonly (readonly [readonly string[], Record<string, string>, RegExp])[] = [
    [['npd', server.manifestUrl], {}, /not public/],
    [
      ['npd', server.manifestUrl],
      { OPENHISP_DIRECTORY_ALLOWS_PRIVATE_TARGETS: 'true' },
      /localhost, which is not an allowed host/,
    ],
    [['npd', folder, folder], {}, /one folder or one URL/],
    [['npd', folder, '--incremental'], {}, /without --incremental/],
    [['fhir', folder], {}, /--format is npd/],
    [['npd', path.join(folder, 'none')], {}, /manifest\.json: not found/],
  ];
  for (const [args, env, expected] of refusals) {
    const { code, errors } = await run(args, env);
    assert.notEqual(code, 0);
    assert.match(errors, expected);
    assert.ok(!errors.includes('X-Amz-Signature'), 'a signed URL is a secret');
  }
  assert.equal((await world.search({})).body.totalCount, '1');
  const { loads } = await listLoads(world.storage, { sourceName: 'npd', limit: 10 });
  assert.deepEqual(
    loads.map(({ state, source, startedBy }) => [state, source, startedBy]),
    [
      ['failed', 'none', 'operator:test'],
      ['failed', server.manifestUrl.split('?')[0], 'operator:test'],
      ['failed', server.manifestUrl.split('?')[0], 'operator:test'],
    ],
  );
  assert.match(loads[2]?.report?.failure ?? '', /not public/);
  assert.doesNotMatch(JSON.stringify(loads), /X-Amz-Signature/);
});

test('fetches and loads a release, says how it is linked, and leaves nothing behind', async () => {
  const { code, out, errors } = await run(['npd', server.manifestUrl], ownServer);
  assert.equal(code, 0, errors);
  assert.match(out, /2 Direct addresses, linked/);
  assert.match(out, /to nothing: 2/);
  assert.match(errors, /downloading: .* MB \(/);
  await untilServed('a@d.example');
  const left = await readdir(path.join(world.folder, 'directory-work'));
  assert.deepEqual(
    left.filter((name) => !name.startsWith('release.lock')),
    [],
  );
});

test('the report is JSON when asked for', async () => {
  const { out } = await run(['npd', folder, '--json']);
  const { release, loaded } = JSON.parse(out) as LoadReport;
  assert.deepEqual([loaded, release?.links.addresses, release?.links.unlinked], [2, 2, 2]);
});
