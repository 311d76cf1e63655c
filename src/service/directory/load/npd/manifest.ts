import { createHash } from 'node:crypto';
import { DirectoryError } from '../../errors.ts';

/** The resources that an import needs, in the order in which it reads them. */
export const neededResources = [
  'Endpoint',
  'PractitionerRole',
  'Location',
  'Organization',
  'Practitioner',
] as const;

export type NpdResource = (typeof neededResources)[number];
export type NpdCompression = 'zstd' | 'gzip' | 'none';

/** One file of a release, as its manifest describes it. */
export interface ManifestFile {
  readonly resource: NpdResource;
  /** The file's name without the ending of the compression, for example `03-Endpoint.ndjson`. */
  readonly key: string;
  readonly compressedBytes: number;
  readonly originalBytes: number;
  /** Lines of the file, if the manifest says so. */
  readonly lineCount: number | undefined;
}

export interface Manifest {
  readonly generatedAt: string;
  readonly compression: NpdCompression;
  readonly files: Readonly<Record<NpdResource, ManifestFile>>;
  /** SHA-256 of the manifest as it was read: whether it has changed. */
  readonly digest: string;
}

/** Larger manifests are refused; the true one has about 1,500 bytes. */
export const maxManifestBytes = 256 * 1024;

/**
 * Reads the manifest of a release. Files of resources that an import does not need are ignored under any
 * name. Throws DIRECTORY_RELEASE_INVALID, or DIRECTORY_RELEASE_PARTIAL if a needed file is missing or empty,
 * or the totals disagree with the files.
 */
export function parseManifest(bytes: Uint8Array): Manifest {
  const manifest = parseObject(bytes);
  const compression = manifest['compression_algorithm'];
  if (compression !== 'zstd' && compression !== 'gzip' && compression !== 'none')
    throw invalid('compression_algorithm is not zstd, gzip or none');
  const generatedAt = manifest['generated_at'] ?? null;
  if (
    generatedAt !== null &&
    (typeof generatedAt !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T:.Z+-]{0,30}$/.test(generatedAt))
  )
    throw invalid('generated_at is not a date');
  const files = manifest['files'];
  if (!isObject(files)) throw invalid('files is not an object');
  requireTotals(manifest['totals'], files);
  const found = neededResources.map((resource) => [resource, findFile(files, resource)] as const);
  return {
    generatedAt: generatedAt ?? 'an unknown date',
    compression,
    files: Object.fromEntries(found) as Record<NpdResource, ManifestFile>,
    digest: createHash('sha256').update(bytes).digest('hex'),
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(what: string): DirectoryError {
  return new DirectoryError('DIRECTORY_RELEASE_INVALID', `Invalid manifest: ${what}`);
}

function parseObject(bytes: Uint8Array): JsonObject {
  if (bytes.length > maxManifestBytes) throw invalid(`more than ${maxManifestBytes} bytes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(
      Buffer.from(bytes)
        .toString('utf8')
        .replace(/^\ufeff/, ''),
    );
  } catch {
    throw invalid('not JSON');
  }
  if (!isObject(parsed)) throw invalid('not a JSON object');
  return parsed;
}

/**
 * The sums over all files, needed or not: a manifest that was cut or put together from two releases
 * disagrees.
 */
function requireTotals(totals: unknown, files: JsonObject): void {
  if (totals === undefined || totals === null) return;
  if (!isObject(totals)) throw invalid('totals is not an object');
  for (const name of ['compressed_bytes', 'original_bytes']) {
    const sum = Object.values(files).reduce<number>((total, file) => total + countAt(file, name, 'files'), 0);
    if (sum !== countAt(totals, name, 'totals'))
      throw new DirectoryError(
        'DIRECTORY_RELEASE_PARTIAL',
        `The files of the manifest have ${sum} ${name} together, its totals say otherwise`,
      );
  }
}

// The releases have named the same file Endpoint.ndjson, Endpoint_2026-05-07_2128.ndjson and
// 03-Endpoint.ndjson.
const nameOf: Readonly<Record<NpdResource, RegExp>> = Object.fromEntries(
  neededResources.map((resource) => [
    resource,
    new RegExp(`^(?:[^A-Za-z]*[^A-Za-z0-9])?${resource}(?![A-Za-z]).*\\.ndjson(?:\\.zst|\\.gz)?$`),
  ]),
) as Record<NpdResource, RegExp>;

function findFile(files: JsonObject, resource: NpdResource): ManifestFile {
  const keys = Object.keys(files).filter((key) => nameOf[resource].test(key));
  const [key] = keys;
  if (key === undefined)
    throw new DirectoryError('DIRECTORY_RELEASE_PARTIAL', `The manifest has no file of ${resource}`);
  if (keys.length > 1) throw invalid(`${keys.length} files of ${resource}`);
  // The name becomes part of a path and of a URL.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$/.test(key) || key.includes('..'))
    throw invalid(`the file name of ${resource} has other characters than letters, digits and . _ -`);
  const entry = files[key];
  const file = {
    resource,
    key: key.replace(/\.(?:zst|gz)$/, ''),
    compressedBytes: countAt(entry, 'compressed_bytes', key),
    originalBytes: countAt(entry, 'original_bytes', key),
    lineCount: lineCountOf(entry, key),
  };
  if (file.compressedBytes === 0 || file.originalBytes === 0)
    throw new DirectoryError('DIRECTORY_RELEASE_PARTIAL', `The manifest says that ${key} is empty`);
  return file;
}

function countAt(value: unknown, name: string, where: string): number {
  const count = isObject(value) ? value[name] : undefined;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw invalid(`${name} of ${where} is not a number of bytes`);
}

/** No release has stated its lines so far; one that does is held to it. */
const lineCountNames = ['line_count', 'row_count', 'record_count', 'resource_count'];

function lineCountOf(entry: unknown, key: string): number | undefined {
  const name = lineCountNames.find((each) => isObject(entry) && entry[each] !== undefined);
  return name === undefined ? undefined : countAt(entry, name, key);
}
