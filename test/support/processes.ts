/** Starts and stops the programs that tests talk to: everything on loopback, in separate folders, ended by its pid. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { accessSync, constants, globSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createDeadline } from './time-scale.ts';

// Debian keeps servers outside an ordinary user's PATH.
const furtherFolders = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/sbin',
  '/usr/lib/postfix/sbin',
  '/usr/lib/postgresql/*/bin',
];

/** The full path of a program, or undefined when it is not installed. */
export function findProgram(name: string): string | undefined {
  if (path.isAbsolute(name)) return isExecutable(name) ? name : undefined;
  const folders = [
    ...(process.env['PATH'] ?? '').split(':'),
    ...furtherFolders.flatMap((folder) => globSync(folder)),
  ];
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Options for a test that needs programs: skipped, with the reason printed, when one is missing. */
export function needsPrograms(...names: readonly string[]): { skip: string | false } {
  const missing = names.filter((name) => findProgram(name) === undefined);
  return { skip: missing.length > 0 ? `not installed here: ${missing.join(', ')}` : false };
}

/** Options for a test of a server that only runs as root. */
export function needsRootAndPrograms(...names: readonly string[]): { skip: string | false } {
  return process.getuid?.() === 0 ? needsPrograms(...names) : { skip: 'needs root' };
}

/** The environment of a program under test that must see none of this process's settings: only where programs are, and the given. */
export function bareEnvironment(given: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }), ...given };
}

// Below the ports that systems give to outgoing connections: one of those may be taken between this and its use.
const [firstTestPort, endOfTestPorts] = [10_000, 32_000];

/** A port that is free on 127.0.0.1 for TCP and UDP at this moment. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = randomInt(firstTestPort, endOfTestPorts);
    if ((await isTcpPortFree(port)) && (await isUdpPortFree(port))) return port;
  }
  throw new Error('No port is free for both TCP and UDP');
}

function isTcpPortFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function isUdpPortFree(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
  });
}

export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** A new folder that servers under another user may enter. */
export async function createTemporaryFolder(name = 'test'): Promise<TemporaryFolder> {
  const folder = await mkdtemp(path.join(os.tmpdir(), `openhisp-${name}-`));
  await chmod(folder, 0o755);
  return { path: folder, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }) };
}

export interface ProgramResult {
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface RunOptions {
  readonly input?: Uint8Array | string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Runs a program to its end. Throws when it is not installed or does not end in time. */
export async function runProgram(
  name: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<ProgramResult> {
  const child = launch(name, args, options);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A program that does not read its input closes the pipe; that is its right.
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input);
  let isLate = false;
  const deadline = createDeadline(options.timeoutMs ?? 30_000);
  const timer = setInterval(() => {
    isLate = deadline.isOver();
    if (isLate) child.kill('SIGKILL');
  }, 200);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  clearInterval(timer);
  if (isLate) throw new Error(`${name} did not end in time`);
  return { status, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
}

export interface RunningProgram {
  readonly pid: number;
  /** Its output so far, both streams. */
  output(): string;
  /** Ends it by its pid, at first gently. Stopping twice is harmless. */
  stop(): Promise<void>;
}

export interface StartOptions extends RunOptions {
  /** Called with what it has written, again and again, until it is true. A port on 127.0.0.1 stands for "takes connections". */
  readonly isReady: number | ((output: string) => boolean | Promise<boolean>);
}

/** Starts a server and waits until it is ready. Throws with its output when it ends early or takes too long. */
export async function startProgram(
  name: string,
  args: readonly string[],
  options: StartOptions,
): Promise<RunningProgram> {
  const child = launch(name, args, options);
  let output = '';
  const collect = (chunk: Buffer) => {
    // Enough to show what went wrong.
    output = (output + chunk.toString('utf8')).slice(-200_000);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  child.stdin?.end();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.once('error', (error) => collect(Buffer.from(String(error))));
  const program: RunningProgram = {
    pid: child.pid ?? 0,
    output: () => output,
    stop: () => stop(child, ended),
  };
  const { isReady, timeoutMs = 20_000 } = options;
  const check = typeof isReady === 'number' ? () => takesConnections(isReady) : () => isReady(output);
  try {
    await waitUntil(
      async () => {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`${name} ended early:\n${output}`);
        return check();
      },
      { timeoutMs, what: `${name} to be ready` },
    );
  } catch (error) {
    await program.stop();
    throw new Error(`${name} did not start:\n${output}`, { cause: error });
  }
  return program;
}

function launch(name: string, args: readonly string[], { cwd, env }: RunOptions): ChildProcess {
  const file = findProgram(name);
  if (file === undefined) throw new Error(`${name} is not installed`);
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...process.env, ...env } }),
  });
  return endWithTests(child);
}

const running = new Set<ChildProcess>();

/** Has the process killed when this one ends before it, so that tests that fail leave nothing behind. */
export function endWithTests<Child extends ChildProcess>(child: Child): Child {
  if (running.size === 0) process.on('exit', endRunning);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', endRunning);
  });
  return child;
}

function endRunning(): void {
  for (const child of running) child.kill('SIGKILL');
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await ended;
  clearTimeout(timer);
}

/** True if something takes TCP connections on that port of 127.0.0.1. */
export function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly what?: string;
}

/** Waits until the check is true; an exception in it ends the waiting. */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  options: WaitOptions = {},
): Promise<void> {
  const { timeoutMs = 10_000, what = 'a condition' } = options;
  const deadline = createDeadline(timeoutMs);
  while (!(await check())) {
    if (deadline.isOver()) throw new Error(`Waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
