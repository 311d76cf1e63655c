import { readFile } from 'node:fs/promises';

/** What went wrong with the content of a file that the operator named; the cause says it. */
export class FileContentError extends Error {
  readonly file: string;

  constructor(file: string, cause: unknown) {
    super('a file cannot be used', { cause });
    this.file = file;
  }
}

/**
 * Reads a file that the operator named, by `read`. All errors name it: those of reading it have a `path`,
 * also for a folder, where the system gives none; those of `read` are the cause of a
 * {@link FileContentError}.
 */
export async function readNamedFile<Content>(
  file: string,
  read: (bytes: Uint8Array) => Content | Promise<Content>,
): Promise<Content> {
  const bytes = await readBytes(file);
  try {
    return await read(bytes);
  } catch (error) {
    throw new FileContentError(file, error);
  }
}

/** The same for text in UTF-8. */
export async function readNamedText(file: string): Promise<string> {
  return (await readBytes(file)).toString();
}

async function readBytes(file: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw Object.assign(error as Error, { path: file });
  });
}
