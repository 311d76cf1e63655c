/** The published package: what it contains, that a program which depends on it compiles, and that it runs where it is installed. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../package.json' with { type: 'json' };
import { createEdgeClient, type EdgeCredentials } from '../../src/app/dev/index.ts';
import { createDeadline } from '../support/time-scale.ts';

const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-package-'));
const checkout = path.join(folder, 'checkout');
const consumer = path.join(folder, 'consumer');
const release = path.join(folder, 'release');
const key = path.join(folder, 'release.key');
const tarball = `openhisp-${packageJson.version}.tgz`;
const installed = path.join(consumer, 'node_modules/openhisp');

function run(
  command: string,
  args: readonly string[],
  cwd: string,
): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  return { status, output: `${stdout}${stderr}` };
}

/** Every file below a folder except installed dependencies. */
const listFiles = (below: string): string[] =>
  globSync('**/*', { cwd: below, exclude: ['node_modules/**', '.git/**'] }).sort();

interface LockedPackage {
  readonly dev?: boolean;
}

/** The packages that npm installs for a program that depends on this one, from the lock file: none for development. */
function listProductionPackages(): string[] {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  return Object.entries(lock.packages)
    .filter(([place, { dev }]) => /^node_modules\/(?!.*\/node_modules\/)/.test(place) && dev !== true)
    .map(([place]) => place)
    .filter((place) => existsSync(path.join(root, place)));
}

/** An empty folder with the tarball unpacked and its dependencies as they are installed here. */
function install(tarball: string): void {
  mkdirSync(installed, { recursive: true });
  const { status, output } = run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], folder);
  assert.equal(status, 0, output);
  writeFileSync(path.join(consumer, 'package.json'), '{"name":"consumer","private":true,"type":"module"}');
  for (const place of listProductionPackages()) link(place, place);
}

function link(source: string, place: string): void {
  mkdirSync(path.dirname(path.join(consumer, place)), { recursive: true });
  symlinkSync(path.join(root, source), path.join(consumer, place));
}

const subPaths = Object.keys(packageJson.exports).filter((name) => name !== './package.json');

describe('the package', () => {
  let filesBefore: string[];
  let packed: string[];

  before(() => {
    const skipped = new Set(['node_modules', 'data', 'dist', '.git'].map((name) => path.join(root, name)));
    cpSync(root, checkout, { recursive: true, filter: (source) => !skipped.has(source) });
    symlinkSync(path.join(root, 'node_modules'), path.join(checkout, 'node_modules'));
    filesBefore = listFiles(checkout);
    const name = ['-c', 'user.name=A', '-c', 'user.email=a@example.org'];
    const commit = () => {
      run('git', ['add', '--all'], checkout);
      run('git', [...name, 'commit', '--quiet', '--all', '--message', 'all'], checkout);
    };
    run('git', ['init', '--quiet'], checkout);
    commit();
    const words = ['--sign', key, '--tag'];
    const early = run('npm', ['run', 'release', '--', release, ...words], checkout);
    assert.match(early.output, /CHANGELOG\.md begins with "## Unreleased"/);
    const changelog = path.join(checkout, 'CHANGELOG.md');
    const text = readFileSync(changelog, 'utf8').replace(
      '## Unreleased',
      `## ${packageJson.version} (today)`,
    );
    writeFileSync(changelog, text);
    assert.match(run('npm', ['run', 'release', '--', release, ...words], checkout).output, /has changes/);
    commit();
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'releases', '-f', key]);
    const made = spawnSync('npm', ['run', 'release', '--', release, ...words], {
      cwd: checkout,
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
        GIT_COMMITTER_NAME: 'A',
        GIT_COMMITTER_EMAIL: 'a@example.org',
      },
    });
    assert.equal(made.status, 0, made.stderr);
    install(path.join(release, tarball));
    packed = listFiles(installed).filter((file) => /\.[^/]+$|^[A-Z]+$|\/[A-Z]+$/.test(file));
  });
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

  it('a release has a bill of materials, sums and a signature that shows each change, and a tag', () => {
    const { version } = packageJson;
    const bom = `openhisp-${version}.cdx.json`;
    assert.deepEqual(readdirSync(release).sort(), ['SHA256SUMS', 'SHA256SUMS.sig', bom, tarball]);
    const { components, metadata } = JSON.parse(readFileSync(path.join(release, bom), 'utf8')) as {
      readonly components: readonly { readonly name: string; readonly version: string }[];
      readonly metadata: { readonly component: { readonly purl: string } };
    };
    assert.equal(metadata.component.purl, `pkg:npm/openhisp@${version}`);
    const named = new Set(components.map((component) => component.name));
    const direct = Object.keys(packageJson.dependencies);
    assert.deepEqual(
      direct.filter((name) => !named.has(name)),
      [],
    );
    assert.ok(!named.has('typescript'));
    const { packages } = JSON.parse(readFileSync(path.join(installed, 'npm-shrinkwrap.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly version: string; readonly optional?: true }>>;
    };
    const { '': self, ...others } = packages;
    assert.equal(self?.version, version);
    const listed = new Set(components.map((one) => `${one.name} ${one.version}`));
    // Optional ones are installed where they run.
    const installs = Object.entries(others)
      .map(([place, one]) => ({ ...one, text: `${place.replace(/.*node_modules\//, '')} ${one.version}` }))
      .filter(({ text, optional }) => optional !== true || listed.has(text));
    assert.deepEqual(new Set(installs.map(({ text }) => text)), listed);
    writeFileSync(path.join(folder, 'signers'), `releases ${readFileSync(`${key}.pub`, 'utf8')}`);
    const verify = (): number | null =>
      spawnSync(
        'ssh-keygen',
        [
          '-Y',
          'verify',
          '-f',
          path.join(folder, 'signers'),
          '-I',
          'releases',
          '-n',
          'openhisp-release',
          '-s',
          path.join(release, 'SHA256SUMS.sig'),
        ],
        { input: readFileSync(path.join(release, 'SHA256SUMS')) },
      ).status;
    assert.equal(verify(), 0);
    assert.equal(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], release).status, 0);
    appendFileSync(path.join(release, bom), ' ');
    assert.notEqual(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], release).status, 0);
    appendFileSync(path.join(release, 'SHA256SUMS'), '\n');
    assert.notEqual(verify(), 0);
    assert.equal(run('git', ['tag', '--list'], checkout).output.trim(), `v${version}`);
    const again = run('npm', ['run', 'release', '--', path.join(folder, 'again'), '--tag'], checkout);
    assert.match(again.output, new RegExp(`the tag v${version} exists`));
  });

  it('packing leaves the work tree as it was', () => {
    assert.deepEqual(listFiles(checkout), filesBefore);
  });

  it('is not made by the commands of npm that would leave out what has to be built', () => {
    const pack = run('npm', ['pack', '--offline'], checkout);
    assert.notEqual(pack.status, 0);
    assert.match(pack.output, /make the package with: npm run pack/);
    // Nobody answers there, and nobody is asked.
    const registry = [
      '--fetch-retries=0',
      '--registry=http://127.0.0.1:9/',
      '--//127.0.0.1:9/:_authToken=none',
    ];
    const publish = run('npm', ['publish', ...registry], checkout);
    assert.notEqual(publish.status, 0);
    assert.match(publish.output, /marked as private/);
    assert.deepEqual(listFiles(checkout), filesBefore);
    const manifest = readFileSync(path.join(installed, 'package.json'), 'utf8');
    assert.ok(!manifest.includes('"private"'));
  });

  it('contains no test, no TypeScript source and no secret, and says of every other file where it comes from', () => {
    assert.ok(packed.includes('bin/openhisp.js') && packed.includes('LICENSE'));
    assert.deepEqual(
      packed.filter((file) => /\.test\.|(?<!\.d)\.ts$|\.(key|pem|p12|db|env)$/.test(file)),
      [],
    );
    const documented = [
      ...readFileSync(path.join(installed, 'docs/provenance.md'), 'utf8').matchAll(/`([^`]+)`/g),
    ].map(([, name]) => name);
    // The console is built from `src/web/` and from packages, whose licenses it comes with.
    assert.ok(packed.includes('dist/console/index.html') && packed.includes('dist/console/licenses.txt'));
    const built =
      /^dist\/(?:program\/[^/]*\.js|types\/.*\.d\.ts|console\/(?:index\.html|licenses\.txt|assets\/.*)(?:\.br|\.gz)?)$/;
    const others = packed.filter((file) => !built.test(file));
    assert.deepEqual(
      others.filter((file) => !documented.some((pattern = '') => path.matchesGlob(file, pattern))),
      [],
    );
  });

  it('has no broken link in its documents', () => {
    const links = globSync(['*.md', 'docs/**/*.md'], { cwd: installed }).flatMap((file) =>
      [...readFileSync(path.join(installed, file), 'utf8').matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^https?:/.test(link))
        .map((link) => path.join(path.dirname(file), link)),
    );
    assert.ok(links.length > 50);
    assert.deepEqual(
      links.filter((link) => !existsSync(path.join(installed, link))),
      [],
    );
  });

  it('credits GeoNames for the gazetteer that it contains, with license and changes, as CC BY 4.0 asks', () => {
    const notice = readFileSync(path.join(installed, 'NOTICE'), 'utf8').replaceAll(/\s+/g, ' ');
    const gazetteer = packed.find((file) => file.endsWith('us-places.csv.br'));
    assert.ok(gazetteer !== undefined && notice.includes(gazetteer), gazetteer);
    for (const part of [
      'GeoNames, https://www.geonames.org/',
      'https://creativecommons.org/licenses/by/4.0/',
      'Changed:',
      'without warranty',
    ])
      assert.ok(notice.includes(part), part);
  });

  it('has its version at the top of the changelog', () => {
    const changelog = readFileSync(path.join(installed, 'CHANGELOG.md'), 'utf8');
    assert.equal(/^## (?!Unreleased)(\S+)/m.exec(changelog)?.[1], packageJson.version);
  });

  for (const [types, source] of [
    ['the Node types of this project', 'node_modules/@types/node'],
    ['current Node types', 'node_modules/types-node-current'],
  ] as const) {
    it(`a program that uses every export compiles with ${types} and skipLibCheck off`, () => {
      rmSync(path.join(consumer, 'node_modules/@types/node'), { force: true });
      rmSync(path.join(consumer, 'node_modules/undici-types'), { force: true });
      link(source, 'node_modules/@types/node');
      const nested = path.join(source, 'node_modules/undici-types');
      link(
        existsSync(path.join(root, nested)) ? nested : 'node_modules/undici-types',
        'node_modules/undici-types',
      );
      const lines = subPaths.map(
        (name, index) => `export * as part${index} from 'openhisp/${name.slice(2)}';`,
      );
      writeFileSync(path.join(consumer, 'program.ts'), lines.join('\n'));
      writeFileSync(
        path.join(consumer, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            target: 'ES2024',
            module: 'NodeNext',
            types: ['node'],
            strict: true,
            exactOptionalPropertyTypes: true,
            noEmit: true,
            skipLibCheck: false,
            // Packages installed only for development must not be found through a link.
            preserveSymlinks: true,
          },
          include: ['program.ts'],
        }),
      );
      const { status, output } = run('tsc', ['-p', '.'], consumer);
      assert.equal(status, 0, output);
    });
  }

  it('every export loads and the command runs where it is installed', () => {
    const imports = subPaths.map((name) => `await import('openhisp/${name.slice(2)}')`);
    const loaded = run(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `console.log([${imports.join(',')}].every((one) => Object.keys(one).length > 0))`,
      ],
      consumer,
    );
    assert.deepEqual([loaded.status, loaded.output.trim()], [0, 'true']);
    const version = run(
      process.execPath,
      [path.join(installed, packageJson.bin.openhisp), '--version'],
      consumer,
    );
    assert.deepEqual([version.status, version.output.trim()], [0, packageJson.version]);
    assert.ok(readdirSync(consumer).every((name) => !name.startsWith('data')));
  });

  it('the sandbox runs from it: loads a directory, answers a search, sends, receives and shows its console', async () => {
    const data = path.join(folder, 'data');
    const child = spawn(
      process.execPath,
      [path.join(installed, 'bin/openhisp.js'), 'sandbox', '--port', '0'],
      {
        cwd: consumer,
        env: { ...process.env, DATA_DIR: data },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const ended = once(child, 'exit');
    try {
      let output = '';
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        output += chunk.toString();
        if (output.includes('ready after')) break;
      }
      const kept = JSON.parse(
        readFileSync(path.join(data, 'sandbox/credentials.json'), 'utf8'),
      ) as EdgeCredentials & {
        readonly consoleUrl: string;
        readonly fromDirectAddress: string;
        readonly partners: Readonly<Record<'processed' | 'dispatched', string>>;
        readonly dataDir: string;
      };
      const client = createEdgeClient(kept);
      const found = (await client.get('/provider-directory/v2/providers?org_state=IL&limit=1')) as {
        totalCount: string;
      };
      assert.ok(Number(found.totalCount) > 0, JSON.stringify(found));
      for (const [state, to] of Object.entries(kept.partners).filter(([name]) =>
        /^(?:processed|dispatched)$/.test(name),
      )) {
        const sent = (await client.post('/messaging/dirmsg/send_ccda', {
          fromDirectAddress: kept.fromDirectAddress,
          toDirectAddress: to,
          messageSubject: 'From the package',
          messageBody: 'x'.repeat(300_000),
          requestFinalDelivery: state === 'dispatched',
        })) as { messageId: string };
        const deadline = createDeadline(30_000);
        for (;;) {
          const status = JSON.stringify(await client.get(`/messaging/dirmsg/status/${sent.messageId}`));
          if (status.includes(`"${state}"`)) break;
          assert.ok(!deadline.isOver(), status);
          await sleep(100);
        }
      }
      const page = await fetch(kept.consoleUrl);
      assert.match(await page.text(), /type="module" src="\/assets\/main-/);
    } finally {
      child.kill('SIGTERM');
    }
    assert.deepEqual(await ended, [0, null]);
  });
});
