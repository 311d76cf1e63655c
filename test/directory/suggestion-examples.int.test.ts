/** The examples of docs/suggestions.md, run as they stand there. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { SuggestionAnswer } from '../../src/service/directory/index.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

const page = readFileSync(new URL('../../docs/suggestions.md', import.meta.url), 'utf8');
const columns = [
  'prov_last_name',
  'prov_first_name',
  'prov_npi',
  'prov_spec_text',
  'org_name',
  'org_addr_1',
  'org_city',
  'org_state',
  'org_zip',
  'org_phone',
  'serv_direct_addr',
] as const;

/** The rows of the tables below a heading, without the heads. */
function tablesOf(text: string): string[][][] {
  return [...text.matchAll(/^\|.*\|\n\|[-|: ]+\|\n((?:\|.*\|\n)+)/gm)].map(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .map((row) =>
        row
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      ),
  );
}

const [records = [], ...examples] = tablesOf(page.slice(page.indexOf('## Examples')));

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
  const rows = records.map((cells) =>
    Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ''])),
  );
  await world.load(toCsv(rows));
});
after(() => world.close());

test('each example of the guide finds what it says', async () => {
  const wrong: string[] = [];
  for (const [q = '', expected] of examples.flat()) {
    const { text } = await world.get(
      `/provider-directory/v2/suggestions?${new URLSearchParams({ q }).toString()}`,
    );
    const { suggestions } = JSON.parse(text) as SuggestionAnswer;
    const found = suggestions.map((one) => one.prov_last_name || one.org_name).join(', ') || 'nothing';
    if (found !== expected) wrong.push(`${q}: ${found}, not ${expected}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(examples.flat().length > 70);
});
