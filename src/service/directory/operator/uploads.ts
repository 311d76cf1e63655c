import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError, errorCode, errorText, type Closable, type Log } from '../../../core/index.ts';
import type { Audit } from '../../audit/index.ts';
import { DirectoryError, isRefusedLoss } from '../errors.ts';
import { maxPendingUploads, maxUploadBytes } from '../limits.ts';
import { megabytes, requireFreeDisk } from '../require-free-disk.ts';
import type { JobListeners, LoadDone, LoadJob } from '../jobs/job.ts';
import type { TableFormat } from '../load/plan-input.ts';
import type { ImportPhase, ImportProgress } from '../load/progress.ts';

export interface UploadRequest {
  /** File name given by the sender. */
  readonly name: string;
  readonly sourceName: string;
  readonly kind: 'full' | 'incremental';
  /** The format that the file must have. */
  readonly format?: TableFormat | undefined;
  /** Loads it although many records go or rows are refused: the report of the refused load was seen. */
  readonly acceptLoss?: boolean | undefined;
  /** From the Content-Length header, if present. */
  readonly sizeBytes?: number | undefined;
  /** Called with the progress of the load, until `done` or `failed`. */
  readonly onProgress: (progress: UploadProgress) => void;
}

export interface UploadProgress extends Omit<ImportProgress, 'phase'> {
  readonly uploadId: string;
  /** `waiting`: for another load to end. */
  readonly phase: Exclude<ImportPhase, 'downloading'> | 'waiting' | 'failed';
  /** Why it failed; else empty. */
  readonly text: string;
  /** True if it was refused only because much would be lost, and may be sent again with `acceptLoss`. */
  readonly isLoss?: boolean;
}

export interface ReceivedUpload {
  readonly uploadId: string;
  readonly bytes: number;
}

/** The operator who loads a file. */
export interface Uploader {
  readonly audit: Audit;
  readonly actor: string;
}

export interface Uploads extends Closable {
  /**
   * Writes a file to disk as it comes, then loads it in the background. Leaves the stream open when it
   * refuses, so that the sender gets the answer. Throws DIRECTORY_UPLOAD_TOO_LARGE, DIRECTORY_UPLOAD_BROKEN,
   * DIRECTORY_UPLOAD_BUSY, DIRECTORY_DISK_LOW.
   */
  receive(stream: Readable, request: UploadRequest, by: Uploader): Promise<ReceivedUpload>;
}

export interface UploadOptions {
  readonly folder: string;
  /** Free space that must remain on the disk of the folder. */
  readonly minFreeBytes: number;
}

interface UploadParts extends UploadOptions {
  readonly log: Log;
  load(job: LoadJob, listeners: JobListeners): Promise<LoadDone>;
}

/** The free space is checked again after this number of bytes. */
const bytesPerLook = 64 * 1024 * 1024;
/** Files left by a process that ended without removing them. */
const leftAfterMs = 24 * 3_600_000;
const retryMs = 1000;
const maxWaitMs = 3_600_000;

export function createUploads(parts: UploadParts): Uploads {
  const { folder, log } = parts;
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  let pending = 0;
  let last: Promise<void> = Promise.resolve();

  async function loadWhenFree(upload: ReceivedUpload, file: string, request: UploadRequest, by: Uploader) {
    const { name, sourceName, kind, format, acceptLoss } = request;
    const { uploadId } = upload;
    const tell = (progress: Partial<UploadProgress> & Pick<UploadProgress, 'phase'>): void =>
      request.onProgress({ uploadId, rowsRead: 0, bytesRead: 0, text: '', ...progress });
    const endsAtMs = performance.now() + maxWaitMs;
    for (;;) {
      closing.signal.throwIfAborted();
      try {
        const { report: done } = await parts.load(
          { path: file, name, kind, sourceName, format, acceptLoss, actor: by.actor },
          {
            signal: closing.signal,
            onProgress({ phase, ...progress }) {
              if (phase !== 'done' && phase !== 'downloading') tell({ phase, ...progress });
            },
          },
        );
        return tell({ phase: 'done', rowsRead: done?.rowsRead ?? 0 });
      } catch (error) {
        if (errorCode(error) !== 'DIRECTORY_LOAD_RUNNING' || performance.now() > endsAtMs) throw error;
        tell({ phase: 'waiting' });
        await delay(retryMs, undefined, { signal: closing.signal });
      }
    }
  }

  async function load(upload: ReceivedUpload, file: string, request: UploadRequest, by: Uploader) {
    const { uploadId } = upload;
    try {
      await loadWhenFree(upload, file, request, by);
    } catch (error) {
      const text = error instanceof CodedError ? errorText(error) : 'The load failed; see the log.';
      log.warn(
        { uploadId, code: errorCode(error), reason: errorText(error) },
        'an uploaded directory was not loaded',
      );
      await by.audit.record({
        action: 'directory.load',
        actor: by.actor,
        outcome: 'failed',
        objects: { upload: uploadId, sourceName: request.sourceName, code: errorCode(error) },
      });
      const isLoss = isRefusedLoss(error);
      request.onProgress({ uploadId, phase: 'failed', rowsRead: 0, bytesRead: 0, text, isLoss });
    } finally {
      pending--;
      await rm(file, { force: true });
    }
  }

  return {
    async receive(stream, request, by) {
      if (pending >= maxPendingUploads)
        throw new DirectoryError('DIRECTORY_UPLOAD_BUSY', 'other uploads are being received or loaded');
      pending++;
      const uploadId = randomUUID();
      const file = path.join(folder, `${uploadId}.upload`);
      let bytes: number;
      try {
        if ((request.sizeBytes ?? 0) > maxUploadBytes) throw tooLarge();
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await removeLeftovers(folder);
        await requireFreeDisk({ ...parts, what: 'upload', neededBytes: request.sizeBytes ?? 0 });
        bytes = await writeStream(stream, file, parts);
        await by.audit.recordNow({
          action: 'directory.upload',
          actor: by.actor,
          outcome: 'ok',
          objects: { upload: uploadId, source: request.name, sourceName: request.sourceName, bytes },
        });
      } catch (error) {
        pending--;
        await rm(file, { force: true });
        throw error;
      }
      const upload = { uploadId, bytes };
      // Loads run one after the other; the first starts after the answer was sent.
      const loading = last.then(() => delay(0)).then(() => load(upload, file, request, by));
      last = loading.catch(() => undefined);
      running.add(last);
      void last.finally(() => running.delete(last));
      return upload;
    },
    async close() {
      closing.abort();
      await Promise.all(running);
    },
  };
}

function tooLarge(): DirectoryError {
  return new DirectoryError(
    'DIRECTORY_UPLOAD_TOO_LARGE',
    `A file may have at most ${megabytes(maxUploadBytes)} MB`,
    {
      publicMessage: `A file may have at most ${megabytes(maxUploadBytes)} MB. Load a larger one with openhisp directory import.`,
    },
  );
}

async function writeStream(stream: Readable, file: string, parts: UploadParts): Promise<number> {
  const handle = await open(file, 'wx', 0o600);
  try {
    return await writeChunks(stream, handle, parts);
  } finally {
    await handle.close();
  }
}

async function writeChunks(stream: Readable, handle: FileHandle, parts: UploadParts): Promise<number> {
  let bytes = 0;
  let lookAt = bytesPerLook;
  const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of readable(chunks)) {
    bytes += chunk.length;
    if (bytes > maxUploadBytes) throw tooLarge();
    if (bytes > lookAt) {
      await requireFreeDisk({ ...parts, what: 'upload', neededBytes: 0 });
      lookAt = bytes + bytesPerLook;
    }
    await handle.writeFile(chunk);
  }
  if (bytes === 0)
    throw new DirectoryError('DIRECTORY_UPLOAD_BROKEN', 'The request has no file as its body.');
  return bytes;
}

async function* readable(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* chunks;
  } catch (cause) {
    throw new DirectoryError('DIRECTORY_UPLOAD_BROKEN', 'The upload was interrupted.', { cause });
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > leftAfterMs) await rm(file, { force: true });
  }
}
