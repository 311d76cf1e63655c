/**
 * Every folder of `src/` with four files or more, tests not counted, says what it is for, what may use it and where to
 * begin: in a comment of three lines or more at the top of its `index.ts`, or of another file, there with "Begin with".
 *
 * Usage: `node tools/check-folders.ts`; prints one line per folder without a sign and exits 1 if there is any.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const folders = new Map<string, string[]>();
for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root }).filter((name) => !name.includes('.test.'))) {
  const folder = path.dirname(file);
  folders.set(folder, [...(folders.get(folder) ?? []), file]);
}

function isSign(file: string): boolean {
  const [comment = ''] = /^\/\*\*[\s\S]*?\*\//.exec(readFileSync(path.join(root, file), 'utf8')) ?? [];
  if (path.basename(file) === 'index.ts') return comment.split('\n').length >= 3;
  return comment.includes('\n * Begin with ');
}

const unsigned = [...folders].filter(([, files]) => files.length >= 4 && !files.some(isSign));
for (const [folder] of unsigned) console.error(`${folder}: no file says what it is for and where to begin`);
console.log(`folders: ${folders.size}, ${unsigned.length} without a sign`);
process.exitCode = unsigned.length === 0 ? 0 : 1;
