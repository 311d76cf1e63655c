/**
 * Loads as plain data, which a separate process can make; their schedule and progress.
 * Used by `service/directory`, and its `operator`.
 * Begin with this type, then `run-jobs.ts`.
 */
import type { TableFormat } from '../load/plan-input.ts';
import type { ProgressListener } from '../load/progress.ts';
import type { LoadReport } from '../load/quality-report.ts';
import type { LoadSummary } from '../status.ts';
import type { LoadKind } from '../store/tables.ts';

/** A load as plain data, so that another process can make it. */
export interface LoadJob {
  /** A file; for a release of the national directory its folder, or the URL of its manifest. */
  readonly path: string;
  /** Name of a file for reports, if its path does not have it; one in an archive has a separate name. */
  readonly name?: string | undefined;
  readonly kind: LoadKind;
  readonly sourceName: string;
  /** The format that a file must have; by default it is detected from its content. */
  readonly format?: TableFormat | undefined;
  /** True if the report of the same file, refused before, was seen. */
  readonly acceptLoss?: boolean | undefined;
  /** For the audit trail: `system`, or an operator as `operator:alice`. */
  readonly actor: string;
  /** The node that has it done. */
  readonly nodeId?: string | undefined;
  /** Digest of the manifest that was loaded last: a release at a URL is loaded only if it has another one. */
  readonly knownDigest?: string | undefined;
}

export interface LoadDone {
  /** Absent if the release is the known one. */
  readonly report?: LoadReport | undefined;
  /** Of the manifest of a release. */
  readonly digest?: string | undefined;
}

/** The rollback of one of several sources, which needs a merge. */
export interface RollbackJob {
  readonly sourceName: string;
  /** The load that must be the active one. */
  readonly activeId?: number | undefined;
  readonly actor: string;
}

export interface JobListeners {
  readonly onProgress?: ProgressListener | undefined;
  /** Abandons the job; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes long changes of the directory: in this process, or in separate ones, which a server needs that has
 * mail to process.
 */
export interface DirectoryJobs {
  /** Throws DirectoryError, and THREAD_PROCESS_LOST if its process ends before it is done. */
  load(job: LoadJob, listeners?: JobListeners): Promise<LoadDone>;
  rollBack(job: RollbackJob): Promise<LoadSummary>;
}
