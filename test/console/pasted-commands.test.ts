/** The commands that the console shows to copy: they exist, and a shell reads their words as they are. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { createCliContext } from '../../src/app/cli/context.ts';
import { createWholeProgram } from '../../src/app/cli/create-program.ts';
import { quoteWord } from '../../src/web/components/quote-word.ts';

test('a shell reads each word as it was, whatever it contains', () => {
  const words = [
    "O'Neil's Clinic",
    "''",
    '',
    '$(id) `id` ${HOME} $HOME',
    'a"b\\c\nd',
    '*?[a]~{b,c}',
    '#no !1 &; | > <',
    '--option',
    'sendsPerSecond=50',
    "@d'arcy.example",
    'Ünïcödé ✓',
  ];
  const script = `printf '%s\\0' ${words.map(quoteWord).join(' ')}`;
  for (const shell of ['sh', 'bash'])
    assert.deepEqual(execFileSync(shell, ['-c', script]).toString().split('\0').slice(0, -1), words, shell);
});

const withParts = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(withParts)];

test('every command of a dialog exists, with its options', async () => {
  const output = { write: () => {} };
  const program = await createWholeProgram(createCliContext({ env: {}, stdout: output, stderr: output }));
  const web = path.resolve(import.meta.dirname, '../../src/web');
  let count = 0;
  for (const file of globSync('**/*.tsx', { cwd: web })) {
    const text = readFileSync(path.join(web, file), 'utf8');
    for (const [, list = ''] of text.matchAll(/words=\{\[(.*?)\]\}/gs)) {
      // As far as they are written there; a name of a dialog's own stands for several commands.
      const literals = [...list.matchAll(/'([a-z-]+)'/g)].map(([, word = '']) => word);
      const [first = '', ...rest] = literals;
      const known = program.commands.find((one) => one.name() === first);
      assert.ok(known, `${file}: openhisp ${first}`);
      const options = withParts(known)
        .filter((one) => one === known || rest.includes(one.name()) || one.parent?.name() === rest[0])
        .flatMap((one) => one.options);
      for (const word of literals)
        if (word.startsWith('--'))
          assert.ok(
            options.some(({ long }) => long === word),
            `${file}: openhisp ${first} ${word}`,
          );
      count++;
    }
  }
  assert.ok(count >= 20, `${count} commands found`);
});
