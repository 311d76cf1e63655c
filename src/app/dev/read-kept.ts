import { readFile } from 'node:fs/promises';
import { errorText } from '../../core/index.ts';

/** What a former start kept in a file of the sandbox. An error names the file, and what to do. */
export async function readKept<T>(file: string, read: (content: Buffer) => T): Promise<T> {
  const content = await readFile(file);
  try {
    return read(content);
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is not JSON' : errorText(error);
    throw new Error(
      `${file} is damaged: ${reason}. Restore it, or delete the sandbox's folder to begin with a new one`,
      { cause: error },
    );
  }
}

export const parseKept = <T>(content: Buffer): T => JSON.parse(content.toString()) as T;
