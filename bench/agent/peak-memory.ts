/**
 * Child process: the memory that one message takes above what the program takes without it.
 * `node peak-memory.ts out|in FILE` prints the bytes at the peak, the given message included.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { prepare, runOnce } from './measure.ts';

const [work = 'out', file = ''] = process.argv.slice(2) as ['out' | 'in', string] | [];

// Everything is loaded and compiled before the base line is measured.
const warmUp = prepare({ work, sizeLabel: '1 kB' });
for (let index = 0; index < 100; index++) await warmUp();
const baseBytes = process.memoryUsage().rss;
// The kernel's own high-water mark can be set back; that of getrusage comes from the parent process.
writeFileSync('/proc/self/clear_refs', '5');
await runOnce(work, readFileSync(file));
const [, highWaterKilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
process.stdout.write(String(Number(highWaterKilobytes) * 1024 - baseBytes));
