import { createTaskThreads, threadScript, type TaskThreads } from '../../../../core/threads/index.ts';
import { DirectoryError, directoryErrors, type DirectoryErrorCode } from '../../errors.ts';
import type { CsvRow } from '../csv-reader.ts';
import type { RowFormat } from '../formats/format.ts';
import type { TaxonomyNames } from '../formats/nppes.ts';
import type { InputPlan } from '../plan-input.ts';
import { rowHeader } from './make-records.ts';
import type { Release } from './open-release.ts';
import type { ReleasePortion } from './read-release.ts';
import type { ReleaseReport } from './release-report.ts';
import type { ReleaseTask } from './release-thread.ts';

export interface PlanReleaseOptions {
  readonly release: Release;
  readonly taxonomy?: TaxonomyNames | undefined;
  readonly onBytes: (count: number) => void;
}

/** Heap for resources as JavaScript objects: many times the size of the longest line. */
const maxHeapMb = 1024;

const threadFile = threadScript('release-thread', import.meta.url);

/**
 * Stands ready to read a release of the national directory, in a thread, as a table with one row per record.
 */
export function planRelease(options: PlanReleaseOptions): InputPlan {
  const thread = createTaskThreads<ReleaseTask, ReleasePortion>(threadFile, {
    // The staged data is in the thread.
    staysReady: true,
    maxHeapMb,
    restore: ({ code, message }) =>
      code in directoryErrors ? new DirectoryError(code as DirectoryErrorCode, message) : new Error(message),
  });
  let report: ReleaseReport | undefined;
  return {
    file: { name: `national directory of ${options.release.manifest.generatedAt}` },
    format: npdFormat,
    table: {
      header: rowHeader,
      statedColumns: rowHeader.length,
      rows: () =>
        readPortions(options, thread, (complete) => {
          report = complete;
        }),
      close: () => void thread.close(),
    },
    describeRelease: () => report,
  };
}

const npdFormat: RowFormat = {
  name: 'npd',
  wanted: [],
  read: (fields, line) => [
    {
      line,
      texts: fields.slice(0, -2),
      latitude: fields.at(-2) ?? '',
      longitude: fields.at(-1) ?? '',
      // Without its own key a record is known by address and NPI, as in the files of other sources
      // (Decision 0008).
      key: '',
      action: '',
      isPatient: false,
    },
  ],
};

/** The thread reads the next portion while this one is worked on. */
async function* readPortions(
  { release, taxonomy = new Map(), onBytes }: PlanReleaseOptions,
  thread: TaskThreads<ReleaseTask, ReleasePortion>,
  onReport: (report: ReleaseReport) => void,
): AsyncGenerator<readonly CsvRow[]> {
  const { manifest, files, scratchDir } = release;
  let next = thread.run({ kind: 'begin', options: { manifest, files, scratchDir, taxonomy } });
  for (;;) {
    const { rows, bytes, report } = await next;
    if (report === undefined) {
      next = thread.run({ kind: 'next' });
      // Handled by the next read; after an abandoned load nothing reads it.
      next.catch(() => {});
    }
    onBytes(bytes);
    yield rows;
    if (report === undefined) continue;
    onReport(report);
    // The staged data is not needed while the index is built.
    await thread.close();
    return release.verifyUnchanged();
  }
}
