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

/** Follows the code of the guide: its receiver gets complete messages, and its requests meet failures. */
const failures = `
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const place = receiver.address();
const earlier = seen.size;
const key = Buffer.from('a secret of an inbound webhook');
secrets.push('whsec_' + key.toString('base64'));
for (const id of ['first', 'second', 'second']) {
  const body = JSON.stringify({ envelopeInfo: { messageId: id }, messageBody: id });
  const time = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', key).update(id + '.' + time + '.' + body).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': 'v1,' + signature };
  const { status } = await fetch('http://127.0.0.1:' + (place as { port: number }).port, { method: 'POST', headers, body });
  if (status !== 204) throw new Error('refused: ' + status);
}
receiver.close();
receiver.closeAllConnections();
console.log('complete messages kept: ' + (seen.size - earlier));

const requests: string[] = [];
const answers: (() => Response)[] = [];
globalThis.fetch = async (input, init) => {
  requests.push(String(input).endsWith('/token') ? 'token' : String(init?.method));
  const next = answers.shift();
  if (next === undefined) throw new TypeError('fetch failed');
  return next();
};
const overloaded = () => new Response('{}', { status: 503, headers: { 'retry-after': '0' } });
const issued = () => Response.json({ access_token: 'new', expires_in: 3600 });
tokenEndsAt = 0;
answers.push(overloaded, issued, () => new Response('{}', { status: 401 }), issued, overloaded, () => Response.json({}));
await call('GET', '/messaging/dirmsg/inbox');
console.log('after failures: ' + requests.splice(0).join(' '));
const lost = await call('POST', '/messaging/webhooks', {}).catch((error) => error);
console.log('after a lost registration: ' + String(lost) + ', ' + requests.splice(0).join(' '));
`;

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

  it('its TypeScript is strict, runs from the token to the evidence, and survives failures', async () => {
    const file = path.join(world.work, 'guide.ts');
    const code = extract('ts');
    assert.ok(code.includes('isGenuine'), 'the code was not found');
    await writeFile(file, `${code}\n${failures}\nconsole.log('all ran');\n`);
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
    assert.match(stdout, /^complete messages kept: 2$/m);
    assert.match(stdout, /^after failures: token token GET token GET GET$/m);
    assert.match(stdout, /^after a lost registration: Error: no answer, POST$/m);
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
