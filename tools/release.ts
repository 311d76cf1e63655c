/**
 * Makes a release in an empty folder, from a commit without changes whose version the changelog describes:
 *
 * - `openhisp-VERSION.tgz`: the npm package (`pack.ts`);
 * - `openhisp-VERSION.cdx.json`: its bill of materials (CycloneDX 1.6);
 * - `openhisp-VERSION.image.tar`: with `--image podman` or `--image docker`, the container image of this machine's architecture;
 * - `SHA256SUMS`: of all of these; `SHA256SUMS.sig`: with `--sign KEY`, its signature by an SSH key (namespace `openhisp-release`).
 *
 * The image's base comes from a registry, or is there already under its name. The CA certificates and npm settings of this machine are
 * passed to the build as secrets, which are not in the image. Where the system permits no containers, as inside one, set
 * `BUILDAH_ISOLATION=chroot` for podman.
 *
 * `--tag` then sets the annotated tag `vVERSION`. The version is that of `package.json`, from which the program has it too. The package
 * and the bill of materials of a commit have the same bytes wherever they are made.
 *
 * Usage: `npm run release -- FOLDER [--image podman|docker] [--sign KEY] [--tag]`
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { billOfMaterials } from '../src/app/evidence-pack/index.ts';
import { pack } from './pack.ts';

const root = path.resolve(import.meta.dirname, '..');
const { version } = packageJson;

function refuse(problem: string): never {
  console.error(problem);
  process.exit(1);
}

function run(command: string, ...words: readonly string[]): string {
  const done = spawnSync(command, words, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (done.status !== 0)
    refuse(`${command} ${words[0] ?? ''}: failed (${done.error?.message ?? done.status})`);
  return done.stdout;
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { image: { type: 'string' }, sign: { type: 'string' }, tag: { type: 'boolean' } },
});
const [target] = positionals;
if (target === undefined)
  refuse('FOLDER is missing: npm run release -- FOLDER [--image podman|docker] [--sign KEY] [--tag]');
if (options.image !== undefined && !['podman', 'docker'].includes(options.image))
  refuse(`--image: podman or docker, not ${options.image}`);
const folder = path.resolve(target);
const isNew = mkdirSync(folder, { recursive: true }) !== undefined;
if (readdirSync(folder).length > 0) refuse(`${folder} is not empty`);
// What a failed run leaves half filled would be refused by the next one.
process.once('exit', (code) => {
  if (code === 0) return;
  const remains = isNew ? [folder] : readdirSync(folder).map((name) => path.join(folder, name));
  for (const one of remains) rmSync(one, { recursive: true });
});
if (run('git', 'status', '--porcelain') !== '')
  refuse('the checkout has changes: commit them, so that the release is that of a commit');
const [heading] = /^## .*$/m.exec(readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8')) ?? [''];
if (heading.split(' ')[1] !== version)
  refuse(`CHANGELOG.md begins with "${heading}", not with "## ${version} (DATE)"`);
if (options.tag === true && run('git', 'tag', '--list', `v${version}`) !== '')
  refuse(`the tag v${version} exists: raise the version of package.json`);

// What is missing is said before the minutes that the package takes.
for (const tool of [options.image, options.sign && 'ssh-keygen'])
  if (tool && spawnSync(tool, ['--version']).error)
    refuse(`${tool} is not installed: install it, or omit --${tool === 'ssh-keygen' ? 'sign' : 'image'}`);
if (options.sign !== undefined && !existsSync(options.sign)) refuse(`--sign: ${options.sign} not found`);

await pack(folder);
writeFileSync(
  path.join(folder, `openhisp-${version}.cdx.json`),
  `${JSON.stringify(billOfMaterials(), null, 2)}\n`,
);
if (options.image !== undefined) {
  const tag = `openhisp:${version}`;
  const format = options.image === 'podman' ? ['--format', 'docker'] : [];
  const secrets = {
    ca: process.env['NODE_EXTRA_CA_CERTS'] ?? run('npm', 'config', 'get', 'cafile').trim(),
    npmrc: run('npm', 'config', 'get', 'userconfig').trim(),
  };
  const given = Object.entries(secrets).filter(([, file]) => existsSync(file));
  const passed = given.flatMap(([id, file]) => ['--secret', `id=${id},src=${file}`]);
  run(options.image, 'build', ...format, ...passed, '-f', 'deploy/Containerfile', '-t', tag, '.');
  run(options.image, 'save', '-o', path.join(folder, `openhisp-${version}.image.tar`), tag);
}
const sums = readdirSync(folder)
  .sort()
  .map((name) => {
    const digest = createHash('sha256').update(readFileSync(path.join(folder, name)));
    return `${digest.digest('hex')}  ${name}\n`;
  });
const sumsFile = path.join(folder, 'SHA256SUMS');
writeFileSync(sumsFile, sums.join(''));
if (options.sign !== undefined)
  run('ssh-keygen', '-q', '-Y', 'sign', '-f', path.resolve(options.sign), '-n', 'openhisp-release', sumsFile);
if (options.tag === true) run('git', 'tag', '-a', `v${version}`, '-m', `openhisp ${version}`);
for (const name of readdirSync(folder).sort()) console.log(path.join(target, name));
