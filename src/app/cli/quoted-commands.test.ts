/**
 * Commands that texts of the program and the documents quote exist: a remedy that cannot be typed is none.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { createCliContext } from './context.ts';
import { createWholeProgram } from './create-program.ts';

const root = path.resolve(import.meta.dirname, '../../..');

/** What is no command of `command`, beginning with the words after it; undefined if all is well. */
function findUnknown(command: Command, words: readonly string[]): string | undefined {
  const [word, ...rest] = words;
  if (word === undefined || command.commands.length === 0) return undefined;
  const found = command.commands.find((one) => one.name() === word);
  return found === undefined ? word : findUnknown(found, rest);
}

test('every command that a text or a document quotes exists', async () => {
  const output = { write: () => {} };
  const program = await createWholeProgram(createCliContext({ env: {}, stdout: output, stderr: output }));
  const names = new Set(program.commands.map((one) => one.name()));
  const unknown: string[] = [];
  let count = 0;
  const files = globSync(['src/**/*.ts', 'docs/*.md', 'README.md', 'deploy/*.yml'], {
    cwd: root,
    exclude: (name) => name.endsWith('.test.ts'),
  });
  for (const file of files) {
    const text = readFileSync(path.join(root, file), 'utf8');
    for (const [quoted, first = '', second] of text.matchAll(
      /(?<!exec )\bopenhisp ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/g,
    )) {
      if (!names.has(first)) continue;
      count++;
      if (findUnknown(program, second === undefined ? [first] : [first, second]) !== undefined)
        unknown.push(`${file}: ${quoted}`);
    }
  }
  assert.ok(count > 100, String(count));
  assert.deepEqual(unknown, []);
});
