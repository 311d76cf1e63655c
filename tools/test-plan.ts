/**
 * Which runs of test files make up a tier. A file's name says where it belongs:
 *
 * - `x.test.ts`: the quick tier, on SQLite; in the full tier on PostgreSQL, too, if it opens a database.
 * - `x.sql.test.ts`: tests statements, claims, leases, transactions, migrations or searches; on both engines in the quick tier.
 * - `x.slow.test.ts`: the full tier only, on both engines.
 * - `x.alone.slow.test.ts`: the same, while no other file runs, because it compares times or rates with each other.
 *
 * A file that opens a database imports `test/support/storage.ts`, itself or through others; one that needs both engines at once
 * (`needsBothEngines`) runs once. So does a slow file that opens a browser (`test/support/browser.ts`), on SQLite: a screen talks to routes
 * whose own tests run on both engines. A file of random tests that imports `test/support/rounds.ts` does fewer rounds in the quick tier.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** `rest` is what the full tier has more than the quick one, for a machine that has just run that. */
export type Tier = 'quick' | 'full' | 'rest';

export interface TestRun {
  readonly file: string;
  readonly onPostgres: boolean;
}

/** What the text of a test file, and of all that it imports, says about it. */
export interface TestFile {
  readonly file: string;
  readonly opensDatabase: boolean;
  readonly needsBothEngines: boolean;
  readonly opensBrowser: boolean;
  readonly hasRounds: boolean;
}

export interface Plan {
  readonly runs: readonly TestRun[];
  /** What the other tier runs: lines for people. */
  readonly left: readonly string[];
}

/** Files that one process runs, one after another: what they import is loaded, and compiled, once. */
export interface TestGroup {
  readonly files: readonly string[];
  readonly onPostgres: boolean;
}

const maxFilesOfGroup = 6;

/**
 * Neighbors in a folder share a process. A slow file has one for itself, and so has one whose text says `needsOwnProcess`, because it
 * changes what all modules share.
 */
export function groupRuns(runs: readonly TestRun[], root: string): readonly TestGroup[] {
  const groups: { files: string[]; onPostgres: boolean }[] = [];
  const open = new Map<string, (typeof groups)[number]>();
  for (const { file, onPostgres } of runs) {
    const isAlone =
      isSlow(file) || /needs(OwnProcess|BothEngines)/.test(readFileSync(path.resolve(root, file), 'utf8'));
    const folder = `${path.dirname(file).split(path.sep).slice(0, 3).join('/')} ${onPostgres}`;
    const group = isAlone ? undefined : open.get(folder);
    if (group !== undefined && group.files.length < maxFilesOfGroup) {
      group.files.push(file);
      continue;
    }
    const made = { files: [file], onPostgres };
    groups.push(made);
    if (!isAlone) open.set(folder, made);
  }
  return groups;
}

export const isSlow = (file: string): boolean => file.endsWith('.slow.test.ts');
export const runsAlone = (file: string): boolean => file.endsWith('.alone.slow.test.ts');
const runsOnce = ({ file, needsBothEngines, opensBrowser }: TestFile): boolean =>
  needsBothEngines || (opensBrowser && isSlow(file));
const testsStatements = (file: string): boolean => file.endsWith('.sql.test.ts');

export function planRuns(files: readonly TestFile[], tier: Tier): Plan {
  const all = files.flatMap((one) => [
    { ...one, onPostgres: false },
    ...(one.opensDatabase && !runsOnce(one) ? [{ ...one, onPostgres: true }] : []),
  ]);
  const isQuick = (run: TestRun): boolean =>
    !isSlow(run.file) && (!run.onPostgres || testsStatements(run.file));
  const isOfTier = (run: (typeof all)[number]): boolean => {
    if (tier === 'full') return true;
    return tier === 'quick' ? isQuick(run) : !isQuick(run) || (run.hasRounds && !run.onPostgres);
  };
  // The longest first, so that none is left for the end.
  const longFirst = (run: TestRun): number => (isSlow(run.file) ? 0 : run.file.startsWith('test') ? 1 : 2);
  return {
    runs: all
      .filter(isOfTier)
      .map(({ file, onPostgres }) => ({ file, onPostgres }))
      .toSorted((a, b) => longFirst(a) - longFirst(b)),
    left:
      tier === 'quick'
        ? describeLeft(
            files,
            all.filter((run) => !isQuick(run)),
          )
        : [],
  };
}

function describeLeft(files: readonly TestFile[], runs: readonly TestRun[]): readonly string[] {
  const slow = files.filter(({ file }) => isSlow(file)).map(({ file }) => file);
  const onPostgres = runs.filter(({ file }) => !isSlow(file)).length;
  const shortened = files.filter(({ file, hasRounds }) => hasRounds && !isSlow(file)).length;
  return [
    `left to npm run test:full: ${slow.length} slow files, ${onPostgres} files on PostgreSQL, the other rounds of ${shortened} files of random tests`,
    ...slow.map((file) => `  ${file}`),
  ];
}

/** Reads what decides where a file runs. */
export function readTestFile(root: string, file: string): TestFile {
  const reached = new Set<string>();
  collectImports(path.resolve(root, file), reached);
  const reaches = (name: string): boolean => reached.has(path.join(root, 'test/support', name));
  return {
    file,
    opensDatabase: reaches('storage.ts'),
    needsBothEngines: readFileSync(path.resolve(root, file), 'utf8').includes('needsBothEngines('),
    opensBrowser: reaches('browser.ts'),
    hasRounds: reaches('rounds.ts'),
  };
}

/** Adds a file and all that it imports, directly or through others. */
function collectImports(file: string, reached: Set<string>): void {
  if (reached.has(file)) return;
  reached.add(file);
  for (const name of listImports(file)) collectImports(name, reached);
}

const importsOf = new Map<string, readonly string[]>();

/** The files of this package that a file imports. */
export function listImports(file: string): readonly string[] {
  const known = importsOf.get(file);
  if (known !== undefined) return known;
  const found = readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g);
  const names = [...found]
    .map(([, name]) => path.resolve(path.dirname(file), name ?? ''))
    .filter((name) => existsSync(name));
  importsOf.set(file, names);
  return names;
}
