/** Text of others reaches terminal and shell through two functions only, of new commands, too. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createCliContext } from './context.ts';
import { describeError, UsageError } from './describe-error.ts';
import { printLines, printList, toRow } from './print-list.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const hostile = '\u001b[2J\u009b1m\u202e\r\nok\tforged\u2028\u{e0041}';

function capture() {
  const [out, note]: [string[], string[]] = [[], []];
  const context = createCliContext({
    env: {},
    stdout: { write: (text: string) => void out.push(text) },
    stderr: { write: (text: string) => void note.push(text) },
  });
  return { context, out, note };
}

test('what is printed or noted obeys no terminal, forges no line and no field, and stays the same JSON', () => {
  const { context, out, note } = capture();
  context.print(toRow(['a', hostile, 'b']));
  printLines(context, [`reason: ${hostile}`]);
  printList(context, {}, [hostile], (text) => text);
  printList(context, { json: true }, [hostile], (text) => text);
  context.note(hostile.replaceAll('\n', ''));
  for (const text of [...out.slice(0, 3), ...note]) {
    assert.equal(text.split('\n').length, 2, JSON.stringify(text));
    assert.doesNotMatch(text, /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  }
  assert.equal(out[0]?.split('\t').length, 3);
  assert.doesNotMatch(out[3] ?? '', /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.deepEqual(JSON.parse(out[3] ?? ''), [hostile]);
});

test('an error that quotes a value is one line, and a list of problems keeps its lines', () => {
  assert.equal(
    describeError(new UsageError('x\nok: all is well\r\n y: unknown')),
    'x\\nok: all is well\\r\\n y: unknown',
  );
  assert.equal(describeError(new UsageError('not valid:\n  a\n  b')), 'not valid:\n  a\n  b');
});

test('no command writes rows, lines or to the streams in a way of its own', () => {
  const found = globSync('src/app/cli/**/*.ts', { cwd: root, exclude: (name) => name.endsWith('.test.ts') })
    .filter((file) => !/(?:context|print-list|progress-line|main)\.ts$/.test(file))
    .flatMap((file) =>
      readFileSync(path.join(root, file), 'utf8')
        .split('\n')
        .filter((line) =>
          /\.join\('\\[nt]'\)|process\.std(?:out|err)\.write|console\.(?:log|error)|\$\{[^}]*\}\\t|\\t\$\{(?!webhook\.lastSuccessAt)/.test(
            line,
          ),
        )
        .map((line) => `${file}: ${line.trim()}`),
    );
  assert.deepEqual(found, []);
});

test('a value in a command that is shown is quoted for a shell', () => {
  const commands = globSync(['src/**/*.ts', 'src/**/*.tsx'], { cwd: root }).flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(/openhisp [a-z][a-z-]* [^`\n]*\$\{[^`\n]*/g)]
      // The command, without the sentence around it.
      .map(([text]) => text.split(/[",;](?: |$)|" /, 1)[0] ?? '')
      .filter((text) => !file.endsWith('.test.ts') && !text.startsWith('openhisp data key '))
      .map((text) => `${file}: ${text}`),
  );
  assert.ok(commands.length > 10, String(commands.length));
  for (const command of commands)
    for (const [, value = ''] of command.matchAll(/\$\{(\w+)/g))
      assert.ok(/^(?:quoteForShell|shown|into|domains)$/.test(value), command);
});
