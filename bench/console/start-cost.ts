/**
 * Measures what the console adds to the program's start: `node bench/console/start-cost.ts [--pairs 9] [--program bin/openhisp.js]`. Starts
 * `openhisp serve` on a new installation in alternating pairs, with the console and without, and prints for each the time until
 * `/health/ready` answers 200 and until everything listens, and the processor time of the process until then.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  bareEnvironment,
  createTemporaryFolder,
  freePort,
  runProgram,
} from '../../test/support/processes.ts';

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '9' },
    program: { type: 'string', default: path.join(import.meta.dirname, '../../bin/openhisp.js') },
  },
});
const pairs = Number(options.pairs);

interface Start {
  readonly readyMs: number;
  readonly startedMs: number;
  readonly cpuMs: number;
}

const folder = await createTemporaryFolder('start');
const dataDir = path.join(folder.path, 'data');

/** The kernel counts in hundredths of a second (USER_HZ). */
async function cpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function start(isServing: boolean): Promise<Start> {
  const [http, smtp, console] = [await freePort(), await freePort(), await freePort()];
  const env = bareEnvironment({
    OPENHISP_HTTP_PORT: String(http),
    OPENHISP_SMTP_PORT: String(smtp),
    OPENHISP_CONSOLE_PORT: String(console),
    OPENHISP_CONSOLE_IS_SERVING: String(isServing),
  });
  const startMs = performance.now();
  const child = spawn(process.execPath, [options.program, 'serve', '--data-dir', dataDir], {
    env,
    stdio: 'pipe',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  let readyMs: number | undefined;
  let startedMs: number | undefined;
  while (readyMs === undefined || startedMs === undefined) {
    if (child.exitCode !== null) throw new Error(`the program ended:\n${output}`);
    if (startedMs === undefined && output.includes('API on ')) startedMs = performance.now() - startMs;
    if (readyMs === undefined && (await isReady(http))) readyMs = performance.now() - startMs;
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  const cpuMs = await cpuMsOf(child.pid ?? 0);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { readyMs, startedMs, cpuMs };
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

try {
  const made = await runProgram(process.execPath, [options.program, 'init', '--data-dir', dataDir]);
  if (made.status !== 0) throw new Error(made.stderr.toString());
  // The first starts read the sources from the disk.
  await start(true);
  await start(false);
  const withConsole: Start[] = [];
  const without: Start[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    without.push(await start(false));
    withConsole.push(await start(true));
  }
  console.log(
    `${pairs} pairs, medians\n\n| | Without | With | Difference in a pair | Between the least values |\n|---|---|---|---|---|`,
  );
  const rows = {
    'until ready': 'readyMs',
    'until all listens': 'startedMs',
    'processor time': 'cpuMs',
  } as const;
  for (const [name, key] of Object.entries(rows)) {
    const differences = withConsole.map((one, pair) => one[key] - (without[pair]?.[key] ?? NaN));
    const lists = [without.map((one) => one[key]), withConsole.map((one) => one[key])];
    const [off, on] = lists.map((list) => Math.min(...list));
    // Other programs only ever add to a time, so the least values are the closest to an idle machine.
    const numbers = [...[...lists, differences].map(median), (on ?? NaN) - (off ?? NaN)];
    console.log(`| ${name} | ${numbers.map((value) => `${value.toFixed(0)} ms`).join(' | ')} |`);
  }
} finally {
  await folder.remove();
}
