/**
 * Measures what the tests notice: makes one fault of one line at a time (a turned comparison, a left-out condition of a statement, a
 * check that never refuses) in the code of trust, leases, states, tenancy, directory filters and parsers, and runs the test files
 * that reach the changed file until one fails: those of its name and folder first, then the cheap ones, then the near ones. Runs in a
 * separate worktree, which it changes and restores.
 *
 * Which faults are made depends on the seed and on the text of the line, so that the same seed makes the same faults after other
 * lines have changed. All are tried on the quick tier first, then the survivors on what the full tier has more.
 *
 * Usage: `node tools/mutants.ts --root FOLDER [--count 60] [--seed 28] [--tier quick] [--seconds 300] [--area NAME] [--at FILE:LINE]…
 * [--list]`; `--seconds` is how long each fault is tried in each tier; `--tier quick` leaves the full one out. Prints a line of JSON for
 * each fault, and the counts by area at the end.
 */
import { hash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres, whyNoPostgres } from '../test/support/postgres.ts';
import { timeScale } from '../test/support/time-scale.ts';
import { runTestFiles } from './run-test-file.ts';
import { isSlow, listImports, planRuns, readTestFile, type TestRun } from './test-plan.ts';

const { values } = parseArgs({
  options: {
    root: { type: 'string' },
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: '28' },
    seconds: { type: 'string', default: '300' },
    tier: { type: 'string', default: 'full' },
    area: { type: 'string' },
    at: { type: 'string', multiple: true },
    list: { type: 'boolean', default: false },
  },
});
const root = path.resolve(values.root ?? '.');

const areas: Readonly<Record<string, readonly string[]>> = {
  trust: [
    'src/lib/pki/**',
    'src/lib/direct/**',
    'src/lib/smime/**',
    'src/service/agent/**',
    'src/service/trust/**',
  ],
  leases: ['src/platform/work/**', 'src/service/delivery/**', 'src/platform/storage/{sqlite,postgres}/**'],
  states: [
    'src/service/messaging/{status,inbound,inbox}/**',
    'src/service/webhook/**',
    'src/service/verification/**',
  ],
  tenancy: [
    'src/service/oauth/**',
    'src/service/operators/**',
    'src/service/messaging/{send,operator}/**',
    'src/app/http/**',
  ],
  filters: ['src/service/directory/{*.ts,serve/**,fhir/**,records/**}', 'src/lib/provider-index/**'],
  parsers: ['src/lib/{mime,mdn,xdm,asn1,dns,ldap,values}/**', 'src/service/directory/load/**'],
};

interface Mutant {
  readonly area: string;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
  readonly order: string;
}

/** Each turns a line into one with a fault, or returns it unchanged. */
const faults: readonly ((line: string) => string)[] = [
  (line) => line.replace(' === ', ' !== '),
  (line) => line.replace(' !== ', ' === '),
  (line) =>
    line.replace(
      / (<|>)(=?) (?=[\w(])/,
      (_, sign: string, equal: string) => ` ${sign}${equal === '' ? '=' : ''} `,
    ),
  (line) => line.replace(' && ', ' || '),
  (line) => line.replace(' || ', ' && '),
  (line) => line.replace(/\bif \(.*\) (throw|return)\b/, 'if (false) $1'),
  (line) => line.replace(/^(\s*)\.where\(.*\)$/, '$1'),
  (line) =>
    line.replace(/'(=|<=|>=|<|>)'/, (_, sign: string) =>
      sign === '=' ? "'!='" : sign.startsWith('<') ? "'>'" : "'<'",
    ),
  (line) => line.replace(/(?<=[=(:?,] ?)(true|false)(?=[;),])/, (word) => String(word !== 'true')),
  (line) => line.replace(/ ([+-]) 1\b/, (_, sign: string) => ` ${sign === '+' ? '-' : '+'} 1`),
];

function findMutants(area: string, patterns: readonly string[]): readonly Mutant[] {
  const files = globSync([...patterns], { cwd: root }).filter(
    (file) => file.endsWith('.ts') && !/\.(test|d)\.ts$/.test(file),
  );
  return files.flatMap((file) =>
    readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .flatMap((before, index) => {
        const isCode = !/^\s*(\*|\/\*|\/\/|import |export type|type |readonly |\|)/.test(before);
        return (isCode ? faults : []).flatMap((fault, kind) => {
          const after = fault(before);
          const order = hash('sha256', `${values.seed} ${path.basename(file)} ${kind} ${before.trim()}`);
          return after === before
            ? []
            : [{ area, file, line: index + 1, before: before.trim(), after, order }];
        });
      }),
  );
}

const byOrder = (a: Mutant, b: Mutant): number => (a.order < b.order ? -1 : 1);

/** The same number of each area, each from another file as far as there are enough. */
function chooseMutants(): readonly Mutant[] {
  const wanted = Object.entries(areas).filter(([name]) => values.area === undefined || name === values.area);
  const each = Math.ceil(Number(values.count) / wanted.length);
  const chosen = wanted.flatMap(([name, patterns]) => {
    const all = findMutants(name, patterns).toSorted(byOrder);
    const firstOfFile = all.filter((one, index) => all.findIndex(({ file }) => file === one.file) === index);
    return [...firstOfFile, ...all.filter((one) => !firstOfFile.includes(one))].slice(0, each);
  });
  return chosen.toSorted(byOrder);
}

const testFiles = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  .toSorted()
  .map((file) => readTestFile(root, file));

/** Steps of imports from a file to others. */
function distancesFrom(file: string): ReadonlyMap<string, number> {
  const distances = new Map([[file, 0]]);
  for (const [name, steps] of distances)
    for (const next of listImports(name)) if (!distances.has(next)) distances.set(next, steps + 1);
  return distances;
}

const distances = new Map(testFiles.map(({ file }) => [file, distancesFrom(path.join(root, file))]));
/** A test that starts the program reaches all of it. */
const farAway = 50;
const startsProgram = new Set(
  testFiles.flatMap(({ file }) =>
    [...(distances.get(file)?.keys() ?? [])].some(
      (name) =>
        !name.startsWith(path.join(root, 'src/app')) && readFileSync(name, 'utf8').includes('bin/openhisp'),
    )
      ? [file]
      : [],
  ),
);

const opensDatabase = new Map(testFiles.map(({ file, opensDatabase: isTrue }) => [file, isTrue]));

/** A class, by the file's name and what it opens: seconds are unknown before the first run. */
function costOf({ file, onPostgres }: TestRun): number {
  if (isSlow(file)) return 4;
  const isWhole = file.startsWith('test/') || startsProgram.has(file) ? 2 : 0;
  return (
    isWhole + Number(opensDatabase.get(file) === true || file.endsWith('.int.test.ts')) + Number(onPostgres)
  );
}

/** The runs of the quick tier that reach a file, and those of the rest, nearest first. */
function planFor(file: string): { readonly quick: readonly TestRun[]; readonly rest: readonly TestRun[] } {
  const far = (test: string): number =>
    distances.get(test)?.get(path.join(root, file)) ?? (startsProgram.has(test) ? farAway : Infinity);
  const folderOf = (test: string): number => Number(path.dirname(test) !== path.dirname(file));
  const words = path
    .basename(file, '.ts')
    .split('-')
    .filter((word) => word.length > 3);
  const nameOf = (test: string): number => Number(!words.some((word) => path.basename(test).includes(word)));
  const reaching = testFiles.filter((test) => Number.isFinite(far(test.file)));
  const sorted = (runs: readonly TestRun[]): readonly TestRun[] =>
    runs.toSorted(
      (a, b) =>
        nameOf(a.file) - nameOf(b.file) ||
        folderOf(a.file) - folderOf(b.file) ||
        costOf(a) - costOf(b) ||
        far(a.file) - far(b.file),
    );
  return { quick: sorted(planRuns(reaching, 'quick').runs), rest: sorted(planRuns(reaching, 'rest').runs) };
}

const mutants = chooseMutants().filter(
  ({ file, line }) => values.at === undefined || values.at.includes(`${file}:${line}`),
);
if (values.list) {
  for (const { area, file, line, before, after } of mutants)
    console.log(`${area} ${file}:${line}\n  ${before}\n  ${after.trim()}`);
  process.exit();
}
const postgres = whyNoPostgres() === undefined ? await startPostgres() : undefined;
const good = new Map<string, boolean>();
let restore = (): void => {};
process.once('exit', () => {
  restore();
  postgres?.kill();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

async function passes({ file, onPostgres }: TestRun, isFull: boolean): Promise<boolean> {
  const { failed } = await runTestFiles([file], {
    cwd: root,
    // What hangs is noticed, too, and that must not take long on a busy machine.
    limitMs: 40_000 / timeScale(),
    env: {
      OPENHISP_TEST_ENGINE: onPostgres ? 'postgresql' : 'sqlite',
      OPENHISP_TEST_TIER: isFull ? 'full' : 'quick',
      OPENHISP_TEST_SEED: values.seed,
      ...(postgres === undefined ? {} : { OPENHISP_TEST_POSTGRES: postgres.url }),
    },
  });
  return failed === 0;
}

/** The run that finds a fault: it fails twice with the fault, and passes without it. */
async function findKiller(
  mutant: Mutant,
  runs: readonly TestRun[],
  isFull: boolean,
): Promise<{ readonly killer?: string; readonly tried: number; readonly skipped: number }> {
  const endMs = performance.now() + Number(values.seconds) * 1000;
  let tried = 0;
  // They fail without the fault, too: on a busy machine a survivor may be none.
  let skipped = 0;
  const file = path.join(root, mutant.file);
  const text = readFileSync(file, 'utf8');
  restore = () => writeFileSync(file, text);
  const lines = text.split('\n');
  lines[mutant.line - 1] = mutant.after;
  const passesWithFault = async (run: TestRun): Promise<boolean> => {
    writeFileSync(file, lines.join('\n'));
    const isAlive = await passes(run, isFull);
    restore();
    return isAlive;
  };
  for (const run of runs) {
    if (run.onPostgres && postgres === undefined) continue;
    const name = `${run.file}${run.onPostgres ? ' on PostgreSQL' : ''}`;
    if (good.get(name) === false) {
      skipped++;
      continue;
    }
    if (performance.now() > endMs) break;
    tried++;
    if (await passesWithFault(run)) continue;
    if (!good.has(name)) good.set(name, await passes(run, isFull));
    // On a busy machine a file may also fail by chance.
    if (good.get(name) === false) skipped++;
    else if (!(await passesWithFault(run))) return { killer: name, tried, skipped };
  }
  return { tried, skipped };
}

const alive: Mutant[] = [];
const counts: Record<string, { mutants: number; quick: number; full: number }> = {};
for (const mutant of mutants) {
  const count = (counts[mutant.area] ??= { mutants: 0, quick: 0, full: 0 });
  const runs = planFor(mutant.file).quick;
  const { killer, ...runCounts } = await findKiller(mutant, runs, false);
  count.mutants++;
  if (killer === undefined) alive.push(mutant);
  else count.quick++;
  tell('quick', mutant, killer, { ...runCounts, of: runs.length });
}
for (const count of Object.values(counts)) count.full = count.quick;
for (const mutant of values.tier === 'quick' ? [] : alive) {
  const runs = planFor(mutant.file).rest;
  const { killer, ...runCounts } = await findKiller(mutant, runs, true);
  const count = counts[mutant.area];
  if (killer !== undefined && count !== undefined) count.full++;
  tell('rest', mutant, killer, { ...runCounts, of: runs.length });
}
console.log(JSON.stringify(counts));
await postgres?.stop();

function tell(tier: string, mutant: Mutant, killer: string | undefined, counts: object): void {
  const { area, file, line, before, after } = mutant;
  const fault = { file: `${file}:${line}`, before, after: after.trim() };
  console.log(JSON.stringify({ tier, killer: killer ?? 'none', ...counts, area, ...fault }));
}
