/**
 * Comments in `src/` have at most 110 columns. A line that cannot be broken, such as a long example, is exempt.
 *
 * Usage: `node tools/check-comments.ts`; prints one line per fault and exits 1 if there is any.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const maxColumns = 110;
const commentForm = /^\s*(?:\/\*\*?|\*|\/\/)\s*(.*)$/;

const faults: string[] = [];
for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root }).sort()) {
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    const text = line.length > maxColumns ? commentForm.exec(line)?.[1] : undefined;
    if (text?.includes(' ') === true)
      faults.push(`${file}:${index + 1}: a comment of ${line.length} columns, the limit is ${maxColumns}`);
  }
}
for (const fault of faults) console.error(fault);
console.log(`comments: ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
