import { UsageError } from './describe-error.ts';
import { readNamedText } from './read-named-file.ts';

/**
 * The checkpoints in files that the operator names, one compact JWS per line. Throws ENOENT for a missing
 * file, and UsageError for one without checkpoints: a comparison with nothing would pass.
 */
export async function readNamedCheckpoints(files: readonly string[]): Promise<readonly string[]> {
  const statements: string[] = [];
  for (const file of files) statements.push(...(await readOne(file)));
  return statements;
}

async function readOne(file: string): Promise<readonly string[]> {
  const lines = (await readNamedText(file)).split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new UsageError(`${file}: the file has no checkpoint.`);
  const other = lines.find((line) => !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(line.trim()));
  if (other !== undefined)
    throw new UsageError(`${file}: not a file of audit checkpoints (one compact JWS per line).`);
  return lines;
}
