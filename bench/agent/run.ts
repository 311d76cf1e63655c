/**
 * Benchmark of the Direct agent's cryptography, the whole pipeline from RFC 5322 bytes to RFC 5322 bytes: `npm run bench:agent`.
 * With `--write` the tables go to bench/RESULTS-agent.md. `--seconds N` is the time per measurement (default 2).
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { measureLoopHold } from './event-loop.ts';
import type { Measured, MeasureRequest } from './measure.ts';
import { buildPlain, seal, sizes } from './messages.ts';
import { measureOpenssl } from './openssl.ts';
import { measureTool } from './tool.ts';

const seconds = Number(process.argv[process.argv.indexOf('--seconds') + 1]) || 2;
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-bench-'));
const lines: string[] = [];

interface Rate {
  readonly perSecond: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** So many threads at once on the same work. */
async function measureThreads(request: MeasureRequest, threads: number): Promise<Rate> {
  const results = await Promise.all(Array.from({ length: threads }, () => runWorker(request)));
  const count = results.reduce((sum, result) => sum + result.count, 0);
  const wallMs = Math.max(...results.map((result) => result.wallMs));
  const cpuMs = results.reduce((sum, result) => sum + result.cpuMs, 0) / count;
  return { perSecond: (count / wallMs) * 1000, cpuMs, wallMs: (wallMs * threads) / count };
}

function runWorker(request: MeasureRequest): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./measure.ts', import.meta.url), { workerData: request });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function peakMultiple(work: 'out' | 'in', message: Uint8Array, plainBytes: number): number {
  const file = path.join(folder, 'peak');
  writeFileSync(file, message);
  const script = path.join(import.meta.dirname, 'peak-memory.ts');
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, work, file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout) / plainBytes;
}

function row(...cells: readonly (string | number)[]): void {
  lines.push(`| ${cells.join(' | ')} |`);
  console.log(lines.at(-1));
}

function heading(...cells: readonly string[]): void {
  lines.push('');
  row(...cells);
  row(...cells.map(() => '---'));
}

const rounded = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

async function main(): Promise<void> {
  heading('RSA-2048 signatures', 'per second', 'ms each');
  for (const threads of [1, 2]) {
    const rate = await measureThreads({ work: 'sign', sizeLabel: '', seconds }, threads);
    row(
      `${threads} thread${threads > 1 ? 's' : ''}`,
      Math.round(rate.perSecond),
      rounded(1000 / rate.perSecond),
    );
  }
  heading(
    'attachment',
    'direction',
    'CPU ms, 1 thread',
    'CPU ms with path validation',
    'wall ms, 1 thread',
    'messages/s, 1 thread',
    'messages/s, 2 threads',
    '`openssl cms` CPU ms',
    '`openssl cms` wall ms',
  );
  for (const size of sizes) {
    const plain = buildPlain(size);
    const sealed = seal(plain);
    for (const work of ['out', 'in'] as const) {
      const request = { work, sizeLabel: size.label, seconds };
      const one = await measureThreads(request, 1);
      const validated = await measureThreads({ ...request, work: `validated ${work}` }, 1);
      const two = await measureThreads(request, 2);
      const openssl = measureOpenssl(work, plain, sealed, folder);
      row(
        size.label,
        work,
        rounded(one.cpuMs),
        rounded(validated.cpuMs),
        rounded(one.wallMs),
        rounded(one.perSecond),
        rounded(two.perSecond),
        rounded(openssl.cpuMs),
        rounded(openssl.wallMs),
      );
    }
  }
  heading('attachment', 'direction', '`agent --stdin`: CPU ms per call, files included');
  for (const size of sizes.slice(0, 2)) {
    const plain = buildPlain(size);
    for (const work of ['out', 'in'] as const)
      row(size.label, work, rounded(await measureTool(work, plain, seal(plain), folder)));
  }
  heading('attachment', 'direction', 'peak memory / plain message', 'longest hold of the event loop, ms');
  for (const size of sizes.slice(-2)) {
    const plain = buildPlain(size);
    const sealed = seal(plain);
    for (const [work, message] of [
      ['out', plain],
      ['in', sealed],
    ] as const) {
      const { longestMs } = await measureLoopHold(work, message, 10);
      row(size.label, work, rounded(peakMultiple(work, message, plain.length)), rounded(longestMs));
    }
  }
}

await main();
rmSync(folder, { recursive: true, force: true });
if (process.argv.includes('--write')) writeResults();

function writeResults(): void {
  const processor = cpus()[0]?.model ?? 'unknown processor';
  const head =
    '# Cost of the Direct agent\n\n' +
    'Made by `npm run bench:agent -- --write`. Whole pipeline from RFC 5322 bytes to RFC 5322 bytes: out = wrap, sign (RSA-2048, SHA-256), ' +
    'encrypt (AES-256-CBC, OAEP), outer header; in = decrypt, verify, unwrap. A message is 1.37 times as long as its attachment. ' +
    '`openssl cms` does the same work in two processes. With path validation: the recipient’s certification path before sealing, the sender’s after opening, without network.' +
    '\n\n' +
    `${cpus().length} × ${processor}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}; load average at the end ${loadavg()[0]?.toFixed(1)}.\n`;
  writeFileSync(path.join(import.meta.dirname, '../RESULTS-agent.md'), `${head}${lines.join('\n')}\n`);
}
