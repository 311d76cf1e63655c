import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { Gazetteer } from '../../src/lib/geo/index.ts';
import { createResourceWriter, type ResourceWriter } from './resources.ts';
import type { ReleaseCounts, World } from './world.ts';

/** The file names over time: in April, in May, and since August 2026. */
export type Naming = 'plain' | 'dated' | 'numbered';
export type Compression = 'zstd' | 'gzip' | 'none';

export interface ReleaseOptions {
  readonly folder: string;
  readonly world: World;
  readonly gazetteer: Gazetteer;
  readonly naming?: Naming;
  readonly compression?: Compression;
}

interface WrittenFile {
  readonly key: string;
  readonly compressedBytes: number;
  readonly originalBytes: number;
}

const resources: readonly (readonly [keyof ReleaseCounts, keyof ResourceWriter, string, string])[] = [
  ['organizations', 'organization', 'Organization', '01'],
  ['locations', 'location', 'Location', '02'],
  ['endpoints', 'endpoint', 'Endpoint', '03'],
  ['practitioners', 'practitioner', 'Practitioner', '06'],
  ['roles', 'role', 'PractitionerRole', '07'],
];

/** Files that nobody should need; a loader that reads them fails. */
const others = [
  ['HealthcareService', '04'],
  ['InsurancePlan', '05'],
  ['OrganizationAffiliation', '08'],
] as const;

const extensions: Readonly<Record<Compression, string>> = { zstd: '.zst', gzip: '.gz', none: '' };

/** Writes a release of the world into `folder`: the files and their manifest. */
export async function writeRelease(options: ReleaseOptions): Promise<void> {
  const { folder, world, gazetteer, compression = 'zstd' } = options;
  await mkdir(folder, { recursive: true });
  const places = gazetteer
    .zipPlaces()
    .filter(({ point, state }) => point !== undefined && !/^A[AEP]$|^$/.test(state));
  const writer = createResourceWriter(world, places);
  const written: WrittenFile[] = [];
  for (const [count, kind, type, prefix] of resources) {
    const lines = linesOf(world.counts[count], (number) => writer[kind](number));
    written.push(await writeLines(options, keyOf(options, type, prefix), lines));
  }
  for (const [type, prefix] of others)
    written.push(await writeLines(options, keyOf(options, type, prefix), ['this is not JSON\n']));
  await writeFile(path.join(folder, 'manifest.json'), formatManifest(written, compression));
}

function keyOf({ naming = 'numbered' }: ReleaseOptions, type: string, prefix: string): string {
  if (naming === 'plain') return `${type}.ndjson`;
  return naming === 'dated' ? `${type}_2026-05-07_2128.ndjson` : `${prefix}-${type}.ndjson`;
}

// Enough text at a time to keep the compressor busy, little enough to bound memory.
const portionLength = 1 << 20;

function* linesOf(count: number, line: (number: number) => string): Generator<string> {
  let portion = '';
  for (let number = 0; number < count; number++) {
    portion += `${line(number)}\n`;
    if (portion.length < portionLength) continue;
    yield portion;
    portion = '';
  }
  if (portion !== '') yield portion;
}

async function writeLines(
  { folder, compression = 'zstd' }: ReleaseOptions,
  key: string,
  portions: Iterable<string>,
): Promise<WrittenFile> {
  const file = path.join(folder, `${key}${extensions[compression]}`);
  const out = createWriteStream(file, { highWaterMark: 1 << 22 });
  const closed = once(out, 'close');
  const target = compressTo(out, compression);
  let originalBytes = 0;
  for (const portion of portions) {
    const bytes = Buffer.from(portion);
    originalBytes += bytes.length;
    if (!target.write(bytes)) await once(target, 'drain');
  }
  target.end();
  await closed;
  return { key, originalBytes, compressedBytes: (await stat(file)).size };
}

function compressTo(out: Writable, compression: Compression): Writable {
  if (compression === 'none') return out;
  const compressor =
    compression === 'gzip'
      ? createGzip({ level: 1 })
      : createZstdCompress({
          chunkSize: 1 << 18,
          params: { [constants.ZSTD_c_compressionLevel]: 3 },
        });
  compressor.pipe(out);
  return compressor;
}

/** The manifest as published: the keys lack the ending of the compression, and nothing has a checksum. */
export function formatManifest(files: readonly WrittenFile[], compression: Compression): string {
  const sum = (name: 'compressedBytes' | 'originalBytes'): number =>
    files.reduce((total, file) => total + file[name], 0);
  const entry = ({ compressedBytes, originalBytes }: Omit<WrittenFile, 'key'>) => ({
    compressed_bytes: compressedBytes,
    original_bytes: originalBytes,
    compression_ratio_pct: Math.round((compressedBytes / originalBytes) * 1000) / 10,
  });
  const manifest = {
    compression_algorithm: compression,
    generated_at: '2026-09-29',
    files: Object.fromEntries(files.map((file) => [file.key, entry(file)])),
    totals: entry({ compressedBytes: sum('compressedBytes'), originalBytes: sum('originalBytes') }),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
