/**
 * Builds the console's front end, `src/web/`, to `dist/console/`: `index.html`, `licenses.txt` of the packages in it, and under `assets/`
 * files whose names carry a hash of their content, each also compressed. Files appear whole and `index.html` last, so that builds at the same time and a running
 * server do no harm to one another.
 *
 * Usage: `node tools/build-console.ts [--watch]`
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { context, type BuildOptions, type BuildResult, type Metafile } from 'esbuild';

const root = path.resolve(import.meta.dirname, '..');
const source = path.join(root, 'src/web');
const output = path.join(root, 'dist/console');
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);
/** Below one packet compression gains nothing. */
const minCompressedBytes = 1200;

const options = {
  absWorkingDir: root,
  entryPoints: { main: 'src/web/main.tsx', theme: 'src/web/theme.ts' },
  outdir: 'dist/console',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  minify: true,
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  loader: { '.svg': 'file', '.woff2': 'file' },
  entryNames: 'assets/[name]-[hash]',
  chunkNames: 'assets/[name]-[hash]',
  assetNames: 'assets/[name]-[hash]',
  metafile: true,
  write: false,
  logLevel: 'warning',
} as const satisfies BuildOptions;

const isWatching = process.argv.includes('--watch');
const startedAt = performance.now();
const built = await context({
  ...options,
  plugins: [
    {
      name: 'write',
      setup(build) {
        build.onEnd(async (result: BuildResult<typeof options>) => {
          if (result.errors.length === 0) await writeBuild(result);
        });
      },
    },
  ],
});
if (isWatching) await built.watch();
else {
  try {
    await built.rebuild();
  } catch {
    // esbuild has printed the errors.
    process.exitCode = 1;
  } finally {
    await built.dispose();
  }
}

async function writeBuild({ outputFiles, metafile }: BuildResult<typeof options>): Promise<void> {
  mkdirSync(path.join(output, 'assets'), { recursive: true });
  const icon = readFileSync(path.join(source, 'icons/icon.svg'));
  const iconName = `assets/icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8).toUpperCase()}.svg`;
  const files = new Map<string, Uint8Array>([[iconName, icon]]);
  for (const file of outputFiles) files.set(path.relative(output, file.path), file.contents);
  await Promise.all([...files].map(([name, bytes]) => writeCompressed(name, bytes)));
  writeWhole('licenses.txt', Buffer.from(collectLicenses(metafile)));
  await writeCompressed('index.html', Buffer.from(writePage(metafile, iconName)));
  removeOld(new Set(files.keys()));
  console.log(
    `console: ${files.size + 1} files in ${((performance.now() - startedAt) / 1000).toFixed(2)} s, dist/console`,
  );
}

/** The page with preload links for the font and the entry's imports, so that the browser requests them all at once. */
function writePage(metafile: Metafile, icon: string): string {
  const outputs = Object.entries(metafile.outputs).map(([name, value]) => ({
    name: path.relative(output, path.join(root, name)),
    ...value,
  }));
  const main = outputs.find(({ entryPoint }) => entryPoint === 'src/web/main.tsx');
  const theme = outputs.find(({ entryPoint }) => entryPoint === 'src/web/theme.ts');
  if (main?.cssBundle === undefined || theme === undefined)
    throw new Error('src/web: an entry point is missing');
  const imported = main.imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path: name }) => path.relative(output, path.join(root, name)));
  const links = [
    `<link rel="icon" type="image/svg+xml" href="/${icon}">`,
    ...outputs
      .filter(({ name }) => name.endsWith('.woff2'))
      .map(({ name }) => `<link rel="preload" as="font" type="font/woff2" href="/${name}" crossorigin>`),
    `<script src="/${theme.name}"></script>`,
    `<link rel="stylesheet" href="/${path.relative(output, path.join(root, main.cssBundle))}">`,
    ...imported.map((name) => `<link rel="modulepreload" href="/${name}">`),
    `<script type="module" src="/${main.name}"></script>`,
  ];
  return readFileSync(path.join(source, 'index.html'), 'utf8').replace(
    '    <!-- links -->',
    links.map((line) => `    ${line}`).join('\n'),
  );
}

/** The license of every package of which some code is in the build. */
function collectLicenses(metafile: Metafile): string {
  const folders = Object.keys(metafile.inputs)
    .map((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0])
    .filter((folder) => folder !== undefined);
  const texts = [...new Set(folders)].sort().map((place) => {
    const folder = path.join(root, place);
    const { name, version, license } = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8'),
    ) as {
      readonly name: string;
      readonly version: string;
      readonly license: string;
    };
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : `\n\n${readFileSync(path.join(folder, file), 'utf8').trim()}`;
    return `${name} ${version} (${license})${text}`;
  });
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

async function writeCompressed(name: string, bytes: Uint8Array): Promise<void> {
  writeWhole(name, bytes);
  // A font is compressed in itself.
  if (bytes.length < minCompressedBytes || name.endsWith('.woff2')) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeWhole(`${name}.br`, await compressBrotli(bytes, { params }));
  writeWhole(`${name}.gz`, await compressGzip(bytes, { level: 9 }));
}

function writeWhole(name: string, bytes: Uint8Array): void {
  const file = path.join(output, name);
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, file);
}

function removeOld(current: ReadonlySet<string>): void {
  for (const name of readdirSync(path.join(output, 'assets'))) {
    const asset = `assets/${name.replace(/\.(br|gz)$/, '')}`;
    // A name that ends in a process id belongs to another build.
    if (!current.has(asset) && !/\.\d+$/.test(name))
      rmSync(path.join(output, 'assets', name), { force: true });
  }
}
