/**
 * Holds every import of `src/` against `import-rules.json`: forbidden edges between modules, packages a module may not
 * use, imports past another module's `index.ts`, permissions that nobody uses, edges that point down the layers, cycles
 * of files, type-only imports included (two files that need each other are one file, or share a third), and cycles of
 * sibling folders inside a module. The front end, `src/web/`, runs in browsers: of the program it may import the types
 * of the console's contract, and nothing else.
 *
 * Usage: `node tools/check-imports.ts`; prints one line per fault and exits 1 if there is any.
 */
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';

interface ModuleRule {
  readonly modules: readonly string[];
  readonly packages: readonly string[];
}

const root = path.resolve(import.meta.dirname, '..');
const rules = (
  JSON.parse(readFileSync(path.join(root, 'import-rules.json'), 'utf8')) as {
    modules: Record<string, ModuleRule>;
  }
).modules;
const order = Object.keys(rules);
const contract = 'src/app/console/contract/index.ts';
const importForm =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'";]*?\sfrom\s)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;
const commentForm = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

const faults: string[] = [];
const usedModules = new Map<string, Set<string>>(order.map((name) => [name, new Set()]));
const usedPackages = new Map<string, Set<string>>(order.map((name) => [name, new Set()]));
const importsOf = new Map<string, string[]>();

for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root })
  .filter((name) => !name.endsWith('.test.ts'))
  .sort()) {
  checkFile(file);
}
reportUnusedPermissions();
reportDownwardRules();
reportCycles(importsOf, 'files');
reportFolderCycles();
for (const fault of faults) console.error(fault);
console.log(`imports: ${order.length} modules, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;

function checkFile(file: string): void {
  const owner = moduleOf(file);
  if (owner === undefined) {
    faults.push(`${file}: belongs to no module of import-rules.json`);
    return;
  }
  const text = readFileSync(path.join(root, file), 'utf8').replace(commentForm, '');
  const targets: string[] = [];
  importsOf.set(file, targets);
  for (const match of text.matchAll(importForm)) {
    const specifier = match[1] ?? match[2] ?? '';
    if (specifier.startsWith('.')) targets.push(targetOf(file, specifier));
    const isTypeOnly = /^\s*import type /.test(match[0]);
    if (!(owner === 'web' && isTypeOnly && targetOf(file, specifier) === contract))
      checkImport(file, owner, specifier);
  }
}

function checkImport(file: string, owner: string, specifier: string): void {
  if (isBuiltin(specifier)) return;
  if (!specifier.startsWith('.')) {
    checkPackage(file, owner, specifier);
    return;
  }
  const target = targetOf(file, specifier);
  const targetModule = moduleOf(target);
  if (targetModule === owner) return;
  if (targetModule === undefined) {
    if (!target.endsWith('package.json')) faults.push(`${file}: imports ${target}, which is no module`);
    return;
  }
  usedModules.get(owner)?.add(targetModule);
  if (path.basename(target) !== 'index.ts' || path.dirname(target) !== `src/${targetModule}`) {
    faults.push(`${file}: imports ${target}; across modules only index.ts may be imported`);
  }
  if (targetModule !== 'core' && rules[owner]?.modules.includes(targetModule) !== true) {
    faults.push(`${file}: ${owner} may not import ${targetModule}`);
  }
}

function targetOf(file: string, specifier: string): string {
  return path.relative(root, path.resolve(root, path.dirname(file), specifier));
}

function checkPackage(file: string, owner: string, specifier: string): void {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  usedPackages.get(owner)?.add(name);
  if (rules[owner]?.packages.includes(name) !== true)
    faults.push(`${file}: ${owner} may not import the package ${name}`);
}

function moduleOf(file: string): string | undefined {
  const inside = file.replace(/^src\//, '');
  return order.filter((name) => inside.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)[0];
}

function reportUnusedPermissions(): void {
  for (const [name, rule] of Object.entries(rules)) {
    for (const other of rule.modules) {
      if (usedModules.get(name)?.has(other) !== true)
        faults.push(`import-rules.json: ${name} does not use ${other}`);
    }
    for (const other of rule.packages) {
      if (usedPackages.get(name)?.has(other) !== true)
        faults.push(`import-rules.json: ${name} does not use the package ${other}`);
    }
  }
}

// A table in which every permission points to an earlier line has no cycle.
function reportDownwardRules(): void {
  for (const [name, rule] of Object.entries(rules)) {
    for (const other of rule.modules) {
      if (order.indexOf(other) >= order.indexOf(name))
        faults.push(`import-rules.json: ${name} may not import ${other}, which stands below it`);
    }
  }
}

// Depth first; a node met again while its own targets are still followed closes a cycle.
function reportCycles(targetsOf: ReadonlyMap<string, Iterable<string>>, of: string): void {
  const finished = new Set<string>();
  const way: string[] = [];
  const follow = (node: string): void => {
    if (finished.has(node)) return;
    const start = way.indexOf(node);
    if (start >= 0) {
      faults.push(`cycle of ${of}: ${[...way.slice(start), node].join(' → ')}`);
      return;
    }
    way.push(node);
    for (const target of targetsOf.get(node) ?? []) follow(target);
    way.pop();
    finished.add(node);
  };
  for (const node of targetsOf.keys()) follow(node);
}

// Sibling folders of a module have an order, too. A file of their parent that one folder imports does not hide what that
// file imports of another.
function reportFolderCycles(): void {
  const parents = new Set([...importsOf.keys()].map((file) => path.dirname(path.dirname(file))));
  for (const parent of [...parents].sort()) {
    const folderEdges = new Map<string, Set<string>>();
    const folderOf = (file: string): string | undefined => {
      const [folder = '', ...rest] = path.relative(parent, file).split('/');
      return folder === '..' || rest.length === 0 ? undefined : `${parent}/${folder}`;
    };
    const follow = (from: string, file: string, seen: Set<string>): void => {
      for (const target of importsOf.get(file) ?? []) {
        if (seen.has(target) || moduleOf(target) !== moduleOf(from)) continue;
        seen.add(target);
        const folder = folderOf(target);
        if (folder === undefined && path.dirname(target) === parent) follow(from, target, seen);
        const own = folderOf(from);
        if (own !== undefined && folder !== undefined && folder !== own)
          folderEdges.set(own, (folderEdges.get(own) ?? new Set()).add(folder));
      }
    };
    for (const file of importsOf.keys())
      if (folderOf(file) !== undefined) follow(file, file, new Set([file]));
    reportCycles(folderEdges, 'folders');
  }
}
