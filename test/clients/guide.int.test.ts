/** docs/guide.md: its commands and its TypeScript run against the sandbox, and its tables are complete. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/platform/index.ts';
import { failureReasons } from '../../src/service/messaging/index.ts';
import { findProgram } from '../support/processes.ts';
import { openDocumentWorld, type DocumentWorld } from './document-world.ts';

const root = path.resolve(import.meta.dirname, '../..');
const guide = await readFile(path.join(root, 'docs/guide.md'), 'utf8');
const run = promisify(execFile);

/** The blocks of one language, one after the other. */
function extract(language: string): string {
  const blocks = [...guide.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks
    .filter(([, name]) => name === language)
    .map(([, , text]) => text)
    .join('\n');
}

const missing = ['bash', 'curl', 'jq'].filter((name) => findProgram(name) === undefined);

describe('the guide', () => {
  let world: DocumentWorld;
  before(async () => {
    world = await openDocumentWorld();
    await mkdir(path.join(world.work, 'data'));
    await symlink(world.folder, path.join(world.work, 'data/sandbox'));
  });
  after(() => world.close());

  it(
    'its commands run in order, each without a failure',
    { skip: missing.length > 0 ? `missing: ${missing.join(', ')}` : false },
    async () => {
      const script = `set -euo pipefail\n${extract('bash')}\necho all ran\n`;
      assert.ok(script.split('api ').length > 10, 'the commands were not found');
      const file = path.join(world.work, 'guide.sh');
      await writeFile(file, script);
      const { stdout } = await run('bash', [file], { cwd: world.work, timeout: 120_000 });
      assert.match(stdout, /all ran\n$/);
    },
  );

  it('its TypeScript is strict, and runs from the token to the evidence', async () => {
    const file = path.join(world.work, 'guide.ts');
    const code = extract('ts');
    assert.ok(code.includes('isGenuine'), 'the code was not found');
    await writeFile(file, `${code}\nconsole.log('all ran');\n`);
    await writeFile(path.join(world.work, 'package.json'), '{"type":"module"}');
    const types = path.join(root, 'node_modules/@types');
    const options = '--noEmit --strict --target ES2024 --module NodeNext --skipLibCheck --types node';
    const checked = spawnSync(
      path.join(root, 'node_modules/.bin/tsc'),
      ['--ignoreConfig', ...options.split(' '), '--typeRoots', types, file],
      { encoding: 'utf8', cwd: world.work },
    );
    assert.equal(checked.status, 0, checked.stdout);
    const words = ['-c', '. data/sandbox/env.sh && exec "$0" "$1"', process.execPath, file];
    const { stdout } = await run('/bin/sh', words, { cwd: world.work, timeout: 120_000 });
    assert.match(stdout, /^Welcome 1$/m);
    assert.match(stdout, /^processed@\S+ processed [0-9a-f]{64}$/m);
    assert.match(stdout, /all ran\n$/);
  });

  it('documents every reason and its remedy', () => {
    const named = [...guide.matchAll(/^\| `([a-z-]+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, reason]) => reason);
    assert.deepEqual(named, ['reason', ...Object.keys(failureReasons)]);
  });

  it('names every status that the API document has', () => {
    const { paths } = world.document;
    const statuses = new Set(
      Object.values(paths).flatMap((item) =>
        Object.values(item).flatMap(({ responses }) => Object.keys(responses).filter((one) => one >= '400')),
      ),
    );
    for (const status of statuses) assert.match(guide, new RegExp(`^\\| (\\d+, )?${status}\\b`, 'm'), status);
  });

  it('names the default limits', () => {
    const { oauth, directory, messaging, http } = loadConfig({});
    const number = (value: number): string => value.toLocaleString('en-US');
    for (const line of [
      `| Token requests | ${oauth.tokensPerSecond} per second, bursts of ${oauth.tokensBurst} |`,
      `| Searches | ${directory.requestsPerSecond} per second, bursts of ${directory.requestsBurst} |`,
      `| Records returned | ${number(directory.recordsPerDay)} per day (UTC) |`,
      `| Sends | ${messaging.sendsPerSecond} per second, bursts of ${messaging.sendsBurst} |`,
      `| Recipients of a message | ${messaging.maxRecipients} |`,
      `| Attachments of a message | ${messaging.maxAttachments}, together ${messaging.maxAttachmentBytes / 1e6} MB decoded |`,
      `| Subject | ${messaging.maxSubjectCharacters} characters |`,
      `| Concurrent requests | ${http.maxRequestsPerClient} per client |`,
      `| Status and history of a message | ${messaging.messageDays} days |`,
      `| Received mail after its acknowledgement | ${messaging.acknowledgedDays} days |`,
    ])
      assert.ok(guide.includes(line), line);
  });
});
