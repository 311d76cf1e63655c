/**
 * Writes `docs/configuration.md` from the configuration schema, so that no setting is undocumented.
 *
 * Usage: `node tools/write-config-docs.ts [--check]`; with `--check` nothing is written and a stale page exits 1.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { listSettings, type Setting } from '../src/platform/index.ts';

const page = path.resolve(import.meta.dirname, '../docs/configuration.md');

/** The page as it must be. */
export function formatSettings(settings: readonly Setting[]): string {
  const sections = [...new Set(settings.map(sectionOf))];
  return [
    '# Configuration',
    '',
    'Written by `node tools/write-config-docs.ts` from `src/platform/config/schema.ts`; do not edit.',
    '',
    'A setting comes from, the later winning: its default; the JSON file (`config.json` in the data folder, or the file that',
    '`OPENHISP_CONFIG` names), as `{"section": {"name": value}}`; the environment, under the name given below. `PORT` is',
    'understood too. Lists are separated by commas in the environment. All problems are reported at once, each with the setting and',
    'where it came from; nothing starts with an unknown or wrong one. Settings of the environment also apply to the HISP of',
    'the sandbox, but not to its partner; `DATA_DIR` is the folder that contains `sandbox/` and has no other meaning.',
    ...sections.flatMap((name) => [
      '',
      `## ${name}`,
      '',
      '| Setting | Environment | Default | Meaning |',
      '|---|---|---|---|',
      ...settings.filter((setting) => sectionOf(setting) === name).map(formatRow),
    ]),
    '',
  ].join('\n');
}

function sectionOf({ path: name }: Setting): string {
  return name.includes('.') ? (name.split('.')[0] ?? '') : 'general';
}

function formatRow({ path: name, variable, fallback, description }: Setting): string {
  const shown =
    fallback === undefined
      ? ''
      : Array.isArray(fallback)
        ? `\`${fallback.join(', ')}\``
        : `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``;
  return `| ${name} | ${variable} | ${shown === '``' ? '' : shown} | ${description} |`;
}

/** True if the page in the repository matches the schema. */
export function isConfigurationPageCurrent(): boolean {
  try {
    return readFileSync(page, 'utf8') === formatSettings(listSettings());
  } catch {
    return false;
  }
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === import.meta.filename) {
  if (!process.argv.includes('--check')) writeFileSync(page, formatSettings(listSettings()));
  if (!isConfigurationPageCurrent()) {
    console.error('docs/configuration.md is stale: run node tools/write-config-docs.ts');
    process.exitCode = 1;
  }
}
