import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRateWatch, errorText } from '../../../../core/index.ts';
import {
  FetchError,
  isPassingStatus,
  readRetryAfter,
  type DownloadResponse,
  type GuardedDownload,
} from '../../../../lib/fetch/index.ts';
import { DirectoryError } from '../../errors.ts';

/** Timeouts and retries of a download. */
export interface DownloadPatience {
  /** Tries in a row that bring less than `worthwhileBytes`, after which the download is abandoned. */
  readonly maxTries: number;
  /** Before the second try; doubled for each further one. */
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  readonly worthwhileBytes: number;
  /** A connection that brings less within the window is abandoned, and the download resumed on a new one. */
  readonly minBytesPerSecond: number;
  readonly rateWindowMs: number;
}

export const usualPatience: DownloadPatience = {
  maxTries: 8,
  firstPauseMs: 1000,
  maxPauseMs: 60_000,
  worthwhileBytes: 1_000_000,
  minBytesPerSecond: 4096,
  rateWindowMs: 60_000,
};

export interface DownloadFileOptions {
  readonly download: GuardedDownload;
  readonly url: string;
  /** Path of the complete file; until then the data is at `<file>.part`, and its state at `<file>.state`. */
  readonly file: string;
  readonly expectedBytes: number;
  readonly patience: DownloadPatience;
  /** Called for bytes that are there; negative when some had to be abandoned. */
  readonly onBytes: (count: number) => void;
}

/** The version of the file that a partial file belongs to. */
interface PartialState {
  readonly url: string;
  readonly etag: string;
  readonly expectedBytes: number;
}

/**
 * Downloads a file, also over several breaks and several runs of the program: it continues where it stopped
 * as long as the server has the same version of the file (RFC 9110 §13.1.5), else from the start. Throws
 * DIRECTORY_DOWNLOAD_FAILED, DIRECTORY_RELEASE_CHANGED if the file has another size than expected,
 * DIRECTORY_DISK_LOW.
 */
export async function downloadFile(options: DownloadFileOptions): Promise<void> {
  const { file, expectedBytes, patience, onBytes } = options;
  if ((await sizeOf(file)) === expectedBytes) return onBytes(expectedBytes);
  let countedBytes = 0;
  const countTo = (bytesThere: number): void => {
    onBytes(bytesThere - countedBytes);
    countedBytes = bytesThere;
  };
  await withPatience(
    patience,
    () => downloadRest(options, countTo),
    () => countedBytes,
  );
  await rename(partialFileOf(file), file);
  await rm(stateOf(file), { force: true });
}

/** Retries errors that may be temporary, with growing pauses; attempts that make progress do not count. */
export async function withPatience<R>(
  patience: DownloadPatience,
  attempt: () => Promise<R>,
  readBytes: () => number = () => 0,
): Promise<R> {
  let pauseMs = patience.firstPauseMs;
  let leastMs = 0;
  for (let tries = 1; ; tries++) {
    const before = readBytes();
    try {
      return await attempt();
    } catch (error) {
      const failure = asFailure(error);
      if (!failure.isWorthRetrying) throw failure.error;
      if (readBytes() - before >= patience.worthwhileBytes) {
        tries = 0;
        pauseMs = patience.firstPauseMs;
      }
      if (tries >= patience.maxTries) throw failure.error;
      leastMs = failure.error instanceof PausedDownload ? failure.error.pauseMs : 0;
    }
    await sleep(Math.max(pauseMs, leastMs));
    pauseMs = Math.min(pauseMs * 2, patience.maxPauseMs);
  }
}

const partialFileOf = (file: string): string => `${file}.part`;
const stateOf = (file: string): string => `${file}.state`;

/** The files that a download may leave. */
export const leftoversOf = (file: string): string[] => [file, partialFileOf(file), stateOf(file)];

async function downloadRest(
  options: DownloadFileOptions,
  countTo: (bytesThere: number) => void,
): Promise<void> {
  const { download, url, expectedBytes } = options;
  const partial = await readPartial(options);
  countTo(partial.bytes);
  if (partial.bytes === expectedBytes) return;
  const headers: Record<string, string> =
    partial.bytes === 0 ? {} : { range: `bytes=${partial.bytes}-`, 'if-range': partial.etag };
  const slow = new AbortController();
  const response = await download(url, { headers, signal: slow.signal });
  const start = await acceptStart(options, partial, response);
  countTo(start);
  const etag = strongEtag(response);
  const handle = await open(partialFileOf(options.file), start === 0 ? 'w' : 'r+', 0o600);
  let position = start;
  const { minBytesPerSecond, rateWindowMs } = options.patience;
  const watch = createRateWatch({ minBytesPerSecond, windowMs: rateWindowMs });
  const endWatch = watch.watch(
    () => position,
    () => slow.abort(),
  );
  try {
    const state: PartialState = { url, etag, expectedBytes };
    if (start === 0) await writeFile(stateOf(options.file), JSON.stringify(state), { mode: 0o600 });
    for await (const piece of response.body) {
      if (position + piece.length > expectedBytes) throw otherSize(options, `more than ${expectedBytes}`);
      await handle.write(piece, 0, piece.length, position);
      position += piece.length;
      countTo(position);
    }
  } finally {
    endWatch();
    await handle.close();
  }
  if (position < expectedBytes)
    throw new DirectoryError('DIRECTORY_DOWNLOAD_FAILED', `${nameOf(url)} broke off after ${position} bytes`);
}

interface PartialFile {
  readonly bytes: number;
  readonly etag: string;
}

const noPartial: PartialFile = { bytes: 0, etag: '' };

/** The existing partial file, if the version that it belongs to is known. */
async function readPartial({ file, url, expectedBytes }: DownloadFileOptions): Promise<PartialFile> {
  const bytes = await sizeOf(partialFileOf(file));
  if (bytes === undefined || bytes > expectedBytes) return noPartial;
  try {
    const state = JSON.parse(await readFile(stateOf(file), 'utf8')) as Partial<PartialState>;
    const isSame = state.url === url && state.expectedBytes === expectedBytes;
    return isSame && typeof state.etag === 'string' && state.etag !== ''
      ? { bytes, etag: state.etag }
      : noPartial;
  } catch {
    return noPartial;
  }
}

/**
 * Offset of the response body in the file. A response that does not continue the partial file is never
 * appended to it.
 */
async function acceptStart(
  options: DownloadFileOptions,
  partial: PartialFile,
  response: DownloadResponse,
): Promise<number> {
  const { url, expectedBytes, file } = options;
  const { status, headers } = response;
  if (status === 200) {
    const length = Number(headers['content-length'] ?? expectedBytes);
    if (length === expectedBytes) return 0;
    response.cancel();
    throw otherSize(options, String(length));
  }
  if (status === 206 && partial.bytes > 0) {
    const isSame = headers['etag'] === undefined || headers['etag'] === partial.etag;
    const range = `bytes ${partial.bytes}-${expectedBytes - 1}/${expectedBytes}`;
    if (isSame && headers['content-range'] === range) return partial.bytes;
  }
  response.cancel();
  // Without its state the part is not gone on with.
  if (status === 206 || status === 416) await rm(stateOf(file), { force: true });
  throw refusedStatus(nameOf(url), response);
}

/** The error for an answer other than the file. */
export function refusedStatus(
  name: string,
  { status, headers }: Pick<DownloadResponse, 'status' | 'headers'>,
): DirectoryError {
  const message = `${name}: the server answered ${status}${status === 206 ? ' with another part of the file' : ''}`;
  return isPassing(status)
    ? new PausedDownload(message, readRetryAfter(headers, new Date()) ?? 0)
    : new RefusedDownload(message);
}

/** An answer that another try may not get, after the pause that the server asked for. */
class PausedDownload extends DirectoryError {
  readonly pauseMs: number;

  constructor(message: string, pauseMs: number) {
    super('DIRECTORY_DOWNLOAD_FAILED', message);
    this.pauseMs = pauseMs;
  }
}

/** An answer that another try would get again. */
class RefusedDownload extends DirectoryError {
  constructor(message: string) {
    super('DIRECTORY_DOWNLOAD_FAILED', message);
  }
}

// An object store answers 403 to a signed URL that has expired; each attempt requests a new one.
const passingStatuses: ReadonlySet<number> = new Set([206, 403, 416]);
const isPassing = (status: number): boolean => passingStatuses.has(status) || isPassingStatus(status);

/** Only a strong validator guarantees that two parts belong to the same bytes (RFC 9110 §8.8.1). */
function strongEtag({ headers }: DownloadResponse): string {
  const etag = headers['etag'] ?? '';
  return /^"[^"]*"$/.test(etag) ? etag : '';
}

function otherSize({ url, expectedBytes }: DownloadFileOptions, found: string): DirectoryError {
  return new DirectoryError(
    'DIRECTORY_RELEASE_CHANGED',
    `${nameOf(url)} has ${found} bytes; the manifest says ${expectedBytes}`,
  );
}

const retriedCodes: ReadonlySet<string> = new Set(['FETCH_FAILED', 'FETCH_TIMEOUT', 'FETCH_HOST_UNKNOWN']);

function asFailure(error: unknown): { readonly error: unknown; readonly isWorthRetrying: boolean } {
  if (error instanceof DirectoryError) {
    const isWorthRetrying = error.code === 'DIRECTORY_DOWNLOAD_FAILED' && !(error instanceof RefusedDownload);
    return { error, isWorthRetrying };
  }
  if (error instanceof FetchError) {
    const failed = new DirectoryError('DIRECTORY_DOWNLOAD_FAILED', errorText(error), { cause: error });
    return { error: failed, isWorthRetrying: retriedCodes.has(error.code) };
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return {
      error: new DirectoryError('DIRECTORY_DISK_LOW', 'The disk is full', { cause: error }),
      isWorthRetrying: false,
    };
  return { error, isWorthRetrying: false };
}

/** The last part of the path: the query of a signed URL is a secret. */
function nameOf(url: string): string {
  return new URL(url).pathname.split('/').at(-1) ?? '';
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch {
    return undefined;
  }
}
