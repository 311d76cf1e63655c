import { mkdir } from 'node:fs/promises';
import type { Closable } from '../../../../core/index.ts';
import { DirectoryError } from '../../errors.ts';
import type { TaxonomyNames } from '../formats/nppes.ts';
import { countLinks } from './link-paths.ts';
import { createRecordMaker, type MadeRow } from './make-records.ts';
import { neededResources, type Manifest, type NpdResource } from './manifest.ts';
import type { Release } from './open-release.ts';
import {
  readEndpoints,
  readLocations,
  readOrganizations,
  readPractitioners,
  readRoles,
  type Pass,
} from './passes.ts';
import { personOf } from './read-parts.ts';
import { readOriginal } from './read-original.ts';
import { createReleaseNotes, type ReleaseNotes, type ReleaseReport } from './release-report.ts';
import { scanLines, type LineListener } from './scan-lines.ts';
import { createStaging, type Staging } from './staging.ts';

/** Options for reading a release. */
export interface ReadReleaseOptions extends Pick<Release, 'files' | 'scratchDir'> {
  readonly manifest: Manifest;
  readonly taxonomy: TaxonomyNames;
}

export interface ReleasePortion {
  readonly rows: readonly MadeRow[];
  /** Bytes read from disk since the previous batch. */
  readonly bytes: number;
  /** Set in the last batch. */
  readonly report?: ReleaseReport;
}

export interface ReleaseReader extends Closable {
  /** The next rows, which may be none while files are staged. */
  next(): Promise<ReleasePortion>;
}

/** A batch ends after this number of rows, or of chunks of a file. */
const portionRows = 500;
const portionPieces = 16;

/** Reads a release as rows, one per record. */
export function createReleaseReader(options: ReadReleaseOptions): ReleaseReader {
  const run: ReleaseRun = {
    ...options,
    notes: createReleaseNotes(),
    lineCounts: new Map(),
    bytes: 0,
    excluded: 0,
    staging: undefined,
  };
  const portions = readRows(run);
  const takeBytes = (): number => {
    const { bytes } = run;
    run.bytes = 0;
    return bytes;
  };
  return {
    async next() {
      const rows: MadeRow[] = [];
      for (let pieces = 0; pieces < portionPieces && rows.length < portionRows; pieces++) {
        const { done, value } = await portions.next();
        if (done === true) return { rows, bytes: takeBytes(), report: describeRelease(run) };
        rows.push(...value);
      }
      return { rows, bytes: takeBytes() };
    },
    async close() {
      await portions.return(undefined);
      await run.staging?.close();
    },
  };
}

interface ReleaseRun extends ReadReleaseOptions {
  readonly notes: ReleaseNotes;
  readonly lineCounts: Map<NpdResource, number>;
  bytes: number;
  excluded: number;
  staging: Staging | undefined;
}

/**
 * Four files are staged; then the practitioners are read, and each wanted one is converted to records at
 * once. Available rows are yielded after each chunk of a file.
 */
async function* readRows(run: ReleaseRun): AsyncGenerator<readonly MadeRow[], undefined> {
  const { scratchDir, notes } = run;
  await mkdir(scratchDir, { recursive: true, mode: 0o700 });
  const staging = createStaging(scratchDir);
  run.staging = staging;
  const passes: readonly (readonly [NpdResource, Pass])[] = [
    ['Endpoint', readEndpoints],
    ['PractitionerRole', readRoles],
    ['Location', readLocations],
    ['Organization', readOrganizations],
  ];
  for (const [resource, pass] of passes) {
    for await (const _ of readFile(run, resource, pass(staging, notes))) yield [];
    requireEndpoints(resource, staging);
  }
  const maker = createRecordMaker(staging, run.taxonomy);
  let rows: MadeRow[] = [];
  const take = (): MadeRow[] => {
    const taken = rows;
    rows = [];
    return taken;
  };
  const onPractitioner = readPractitioners(staging, notes, (number, resource) => {
    const person = personOf(resource);
    const made = maker.ofPerson(number, person);
    if (person.isExcluded) run.excluded += made.length;
    rows.push(...made);
  });
  for await (const _ of readFile(run, 'Practitioner', onPractitioner)) yield take();
  const linkOf = maker.bestLinks();
  for (let address = 0; address < staging.addresses.table.size; address++) {
    const row = maker.ofAddress(address, linkOf(address));
    if (row !== undefined) rows.push(row);
    if (rows.length >= portionRows) yield take();
  }
  yield take();
  return undefined;
}

async function* readFile(run: ReleaseRun, resource: NpdResource, onLine: LineListener): AsyncGenerator<void> {
  const { manifest, files, lineCounts } = run;
  const { key, originalBytes, lineCount } = manifest.files[resource];
  const onBytes = (count: number): void => void (run.bytes += count);
  const pieces = readOriginal(files[resource].path, originalBytes, onBytes);
  for await (const lines of scanLines(pieces, onLine)) {
    lineCounts.set(resource, lines);
    yield;
  }
  const lines = lineCounts.get(resource) ?? 0;
  if (lineCount !== undefined && lineCount !== lines)
    throw new DirectoryError(
      'DIRECTORY_RELEASE_PARTIAL',
      `${key} has ${lines} lines; the manifest says ${lineCount}`,
    );
}

/** Reported after the first file, not after gigabytes. */
function requireEndpoints(resource: NpdResource, { endpoints }: Staging): void {
  if (resource !== 'Endpoint' || endpoints.size > 0) return;
  throw new DirectoryError(
    'DIRECTORY_RELEASE_PARTIAL',
    'The release has no active endpoint of type direct-project',
  );
}

function describeRelease(run: ReleaseRun): ReleaseReport {
  const { manifest, notes, lineCounts, staging, excluded } = run;
  return {
    generatedAt: manifest.generatedAt,
    files: neededResources.map((resource) => ({
      name: manifest.files[resource].key,
      lines: lineCounts.get(resource) ?? 0,
      faults: notes.faultsOf(resource),
    })),
    links: countLinks(
      staging?.addresses.table.size ?? 0,
      (address) => staging?.addresses.paths.get(address) ?? 0,
    ),
    excluded,
    unused: notes.unused,
  };
}
