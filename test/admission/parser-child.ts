/**
 * Reads the worst input of one parser once: `node --expose-gc parser-child.ts NAME FILE`. Writes one line of JSON: the size of the input,
 * what came of it, the time, and the memory that it took in addition to the input. A process for each, since a peak does not fall again.
 */
import { readFileSync } from 'node:fs';
import { hostileInputs } from './hostile-inputs.ts';

const [name = '', file = ''] = process.argv.slice(2);
const input = hostileInputs[name];
if (input === undefined) throw new Error(`no input ${name}`);
const bytes = readFileSync(file);
globalThis.gc?.();
const before = process.memoryUsage().rss;
const beganMs = performance.now();
let outcome: string;
try {
  outcome = (await input.read(bytes)) ?? 'read';
} catch (error) {
  outcome = error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
const tookMs = Math.round(performance.now() - beganMs);
const peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
process.stdout.write(
  `${JSON.stringify({ inputBytes: bytes.length, outcome, tookMs, heldBytes: peak - before })}\n`,
);
