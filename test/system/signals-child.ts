/**
 * What the starter runs in the tests of signals, in place of the command line: the program's own handling of signals, and something that
 * takes CLOSE_MS to close. Writes what happens to the file FACTS, since its terminal may be gone.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { hearStops } from '../../src/app/cli/hear-stops.ts';
import type { CliContext } from '../../src/app/cli/context.ts';

const note = (text: string): void => appendFileSync(process.env['FACTS'] ?? '', `${text}\n`);
const life = setInterval(() => {}, 1000);
hearStops({
  env: process.env,
  note,
  setExitCode() {},
} satisfies Partial<CliContext> as unknown as CliContext).close({
  async close() {
    await wait(Number(process.env['CLOSE_MS']));
    clearInterval(life);
  },
});
note(`pid ${process.pid}`);
