/** Clients that generators make of the API document: they compile, and run the whole path against the sandbox. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import { generatorsFolder, whyNoGenerators } from '../support/client-generators.ts';
import { openDocumentWorld, type DocumentWorld } from './document-world.ts';

const modules = path.join(generatorsFolder, 'node_modules');
const run = promisify(execFile);

let world: DocumentWorld;

async function node(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { cwd: world.work, env: { ...process.env, ...env }, timeout: 120_000 };
  try {
    return (await run(process.execPath, [...args], options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${args[0]} failed: ${stdout}${stderr}`, { cause: error });
  }
}

const compilerOptions = {
  strict: true,
  skipLibCheck: true,
  target: 'ES2022',
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  module: 'ESNext',
  moduleResolution: 'Bundler',
  types: ['node'],
  typeRoots: [path.resolve(import.meta.dirname, '../../node_modules/@types')],
  outDir: 'out',
  rootDir: '.',
};

describe('clients made of the API document', { skip: whyNoGenerators() ?? false }, () => {
  before(async () => {
    world = await openDocumentWorld();
    const generated = path.join(world.work, 'generated');
    await mkdir(generated);
    await cp(path.join(import.meta.dirname, 'programs'), world.work, { recursive: true });
    await symlink(modules, path.join(world.work, 'node_modules'));
    await writeFile(path.join(world.work, 'package.json'), '{"type":"module"}');
  });
  after(() => world.close());

  it('openapi-typescript, orval and hey-api make them', async () => {
    const target = (name: string): string => path.join(world.work, 'generated', name);
    await node([
      path.join(modules, 'openapi-typescript/bin/cli.js'),
      world.documentFile,
      '-o',
      target('types.ts'),
    ]);
    const output = { target: target('orval.ts'), client: 'fetch', mode: 'single', baseUrl: world.baseUrl };
    const config = { api: { input: world.documentFile, output } };
    await writeFile(path.join(world.work, 'orval.config.mjs'), `export default ${JSON.stringify(config)};\n`);
    await node([path.join(modules, 'orval/dist/bin/orval.mjs'), '--config', 'orval.config.mjs']);
    await node([
      path.join(modules, '@hey-api/openapi-ts/bin/run.js'),
      '-i',
      world.documentFile,
      '-o',
      target('hey-api'),
      '-c',
      '@hey-api/client-fetch',
    ]);
  });

  it('they compile under strict rules', async () => {
    const programs = ['openapi-fetch.ts', 'orval.ts', 'hey-api.ts', 'every-operation.ts'];
    await writeFile(
      path.join(world.work, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: programs }),
    );
    await node([path.join(modules, 'typescript/bin/tsc'), '-p', '.']);
  });

  for (const [name, program] of [
    ['openapi-typescript with openapi-fetch', 'openapi-fetch'],
    ['orval', 'orval'],
    ['hey-api', 'hey-api'],
  ] as const)
    it(`${name}: from the token to the webhook`, async () => {
      const { clientId, clientSecret } = world.sandbox.credentials;
      const out = await node([`out/${program}.js`], {
        BASE_URL: world.baseUrl,
        CLIENT_ID: clientId,
        CLIENT_SECRET: clientSecret,
        FROM: demoAddress,
        TO: partners.processed,
      });
      const { secret, ...outcome } = JSON.parse(out) as Record<string, unknown>;
      assert.deepEqual(outcome, {
        providers: 2,
        messageStatus: 'processed',
        subject: 'Welcome',
        webhook: 'status',
        refusal: 'messaging_message_not_found',
      });
      assert.match(String(secret), /^whsec_/);
    });

  // The last one: it acknowledges the message that the others wait for.
  it('openapi-typescript with openapi-fetch: every operation, and both webhooks', async () => {
    const { clientId, clientSecret } = world.sandbox.credentials;
    const out = await node(['out/every-operation.js'], {
      BASE_URL: world.baseUrl,
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
      FROM: demoAddress,
      TO: partners.processed,
    });
    const { used, seen } = JSON.parse(out) as { used: string[]; seen: unknown };
    const all = Object.entries(world.document.paths).flatMap(([place, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${place}`),
    );
    assert.deepEqual(used.toSorted(), all.toSorted());
    assert.deepEqual(seen, {
      health: ['OK', 'OK'],
      tokenEndpoint: true,
      bundle: [true, 304, 'mine'],
      distances: true,
      same: true,
      suggested: true,
      checks: [
        [true, true, false, ''],
        [false, null, null, 'invalid'],
        [true, true, false, ''],
      ],
      statuses: [
        ['processed', ''],
        ['processed', ''],
      ],
      reports: ['processed', 'urn:uuid:00000000-0000-4000-8000-000000000000'],
      evidence: true,
      events: [
        ['message.processed', 'processed', 1],
        ['message.processed', 'processed', 1],
      ],
      pushed: [[true, 1, 'Every operation XDM/1.0/DDM']],
      received: [false, true, true],
      acknowledged: true,
      secrets: true,
      webhook: [false, 'client', false],
      rest: [0, 0, 0],
      provisioning: ['added', false, 'added', 'Provider', false, null, 1, true],
      refused: [401, 'oauth_token_invalid'],
    });
  });
});
