/**
 * Numbers in options are decimal digits: other spellings that JavaScript reads as numbers are refused, with
 * words that say what is meant.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand, type CommandRun } from '../../../test/support/run-command.ts';
import { errorText } from '../../core/index.ts';

async function refusalOf(words: readonly string[], env: Record<string, string> = {}): Promise<string> {
  try {
    const { out, note, exitCode } = await runCommand({ OPENHISP_DATA_DIR: '/nonexistent', ...env }, words);
    return exitCode === undefined ? '' : out + note;
  } catch (error) {
    return (error as CommandRun & Error).note + errorText(error);
  }
}

const options: readonly (readonly [words: readonly string[], refusal: RegExp])[] = [
  [['directory', 'import', 'providers.csv', '--max-refused'], /--max-refused is a percentage, 0 to 100/],
  [['doctor', '--timeout'], /a number of seconds from 0\.1 to 300/],
  [['sandbox', '--port'], /the port must be a number from 0 to 65535/],
  [['agent', 'discover', 'a@b.example', '--timeout-ms'], /--timeout-ms: a number of milliseconds from 1 to/],
];

for (const [words, refusal] of options)
  test(`${words.join(' ')} takes decimal digits alone`, async () => {
    for (const value of ['0x10', '1e1', ' 12', '1_0', '１０', 'Infinity', 'ten'])
      assert.match(await refusalOf([...words, value]), refusal, value);
  });

test('the sandbox names the setting of a port that is none', async () => {
  for (const name of ['PORT', 'OPENHISP_HTTP_PORT'])
    assert.match(
      await refusalOf(['sandbox'], { [name]: 'x' }),
      new RegExp(`(?<!_)${name}: the port must be`),
    );
});

test('client create --limit takes decimal digits alone', async () => {
  for (const value of ['0x10', '1e1', ' 12', '', 'Infinity', 'ten'])
    assert.match(
      await refusalOf(['client', 'create', 'EHR', '--limit', `sendsPerSecond=${value}`]),
      /It must have the form name=number/,
      value,
    );
});

test('an empty percentage of refused rows is no percentage', async () => {
  assert.match(
    await refusalOf(['directory', 'import', 'providers.csv', '--max-refused', '']),
    /--max-refused is a percentage, 0 to 100/,
  );
});
