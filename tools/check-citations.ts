/**
 * Checks that whatever the sources cite exists: each document is listed in docs/specifications.md, each `Decision NNNN` is
 * a record, each requirement id such as `AS-30` stands in the tables of that page. Checks the page too: a status of known
 * words, a reason where it is not `yes`, a test title for each `MUST` that is `yes`, and counts that are true.
 *
 * Usage: `node tools/check-citations.ts [--write]` (`--write` renews the counts in the page)
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  countsBlock,
  findCitationProblems,
  findPageProblems,
  readPage,
  renewCounts,
  testedIds,
  type SourceText,
} from './citations.ts';

const root = path.resolve(import.meta.dirname, '..');
const pagePath = 'docs/specifications.md';
const patterns = ['{src,test,tools,bench,examples,console}/**/*.{ts,tsx,html}', 'docs/**/*.md', '*.md'];

const sources: SourceText[] = globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' })
  .filter(
    (name) =>
      name !== pagePath && !name.startsWith('test/fixtures/') && name !== 'test/tools/citations.test.ts',
  )
  .toSorted()
  .map((name) => ({ name, text: readFileSync(path.join(root, name), 'utf8') }));
const decisions = new Set(
  globSync('docs/decisions/[0-9]*.md', { cwd: root }).map((name) => path.basename(name).slice(0, 4)),
);
const pageFile = path.join(root, pagePath);
let pageText = readFileSync(pageFile, 'utf8');
const tested = testedIds(sources);

if (process.argv.includes('--write')) {
  pageText = renewCounts(pageText, countsBlock(readPage(pageText)));
  writeFileSync(pageFile, pageText);
}

const page = readPage(pageText);
const problems = [
  ...findCitationProblems(sources, page, decisions),
  ...findPageProblems(pageText, page, tested).map((problem) => `${pagePath}: ${problem}`),
];
for (const problem of problems) console.log(problem);
const musts = [...page.requirements.values()].filter(({ level }) => level.startsWith('MUST'));
const named = musts.filter(({ id }) => tested.has(id)).length;
console.log(`${named} of ${musts.length} MUST and MUST NOT rows are named by a test`);
process.exitCode = problems.length === 0 ? 0 : 1;
