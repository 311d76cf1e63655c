#!/usr/bin/env node
// The sources are TypeScript that Node runs by itself from 22.18 on. On a machine whose own Node is older, the copy that
// npm has installed with this package takes over.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import * as modules from 'node:module';
import { userInfo } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadingEnvironment, servingEnvironment, servingOptions } from './node-options.js';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);
const program = fileURLToPath(import.meta.url);
const root = path.resolve(path.dirname(program), '..');
/** Set for the copy that takes over, which ends when the first process ends. */
const marker = 'OPENHISP_STARTED_BY_OLDER_NODE';

if (isNewEnough) {
  restartWithOptions();
  if (process.env[marker] !== undefined) endWithParent();
  keepCompiled();
  const built = path.join(root, 'dist/program/main.js');
  const source = path.join(root, 'src/app/cli/main.ts');
  await import(existsSync(source) ? source : built);
} else {
  const newer = findNode();
  if (newer === undefined || process.env[marker] !== undefined) {
    console.error(`openhisp needs Node 22.18 or newer; this is ${process.versions.node}.`);
    process.exitCode = 1;
  } else handOver(newer);
}

/** The Node of the optional dependency: in this package, or where npm has hoisted it. */
function findNode() {
  const places = ['node_modules/.bin/node', '../.bin/node', '../../.bin/node'];
  return places.map((place) => path.resolve(root, place)).find((file) => existsSync(file));
}

// The Node of the optional dependency is a 24.
function handOver(node) {
  const options = chooseOptions('24.0.0');
  const child = spawn(node, [...options, program, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...environmentFor(options), [marker]: '1' },
  });
  // Ctrl-C, and a signal to the group, reach both processes; the program takes what comes within a second for one signal. SIGHUP at a
  // terminal is the terminal's, which tells both.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${node} cannot be run: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** Puts a process with Node's options for serving, or with the memory settings of a large load, in the place of this one. */
function restartWithOptions() {
  const options = chooseOptions(process.versions.node);
  const isPlain = options.length === 0 && !(isLoading() && process.env.MALLOC_MMAP_THRESHOLD_ === undefined);
  // A channel to a parent would not survive.
  if (isPlain || process.channel || process.execve === undefined || process.platform === 'win32') return;
  const args = [process.execPath, ...process.execArgv, ...options, ...process.argv.slice(1)];
  process.execve(process.execPath, args, environmentFor(options));
}

/**
 * Has Node keep what it compiles, so that the next command starts in half the time. Only in a folder of this user, named by
 * the system and not by the environment: what somebody else can write there would run as this user. Not for what serves,
 * which starts once.
 */
function keepCompiled() {
  if (isServing() || modules.enableCompileCache === undefined || process.platform === 'win32') return;
  try {
    const { homedir, uid } = userInfo();
    const folder = path.join(homedir, '.cache/openhisp');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid: owner, mode } = statSync(folder);
    if (owner !== uid || (mode & 0o022) !== 0) return;
    modules.enableCompileCache(folder);
    // For the threads of this process, too.
    process.env.NODE_COMPILE_CACHE ??= folder;
  } catch {
    // No home, or not writable.
  }
}

/** Variables that the operator has set take precedence. */
function environmentFor(options) {
  if (options.length > 0) return { ...servingEnvironment, ...process.env };
  return isLoading() ? { ...loadingEnvironment, ...process.env } : process.env;
}

/** None for commands that do not serve, and where the operator has chosen some. */
function chooseOptions(version) {
  const chosen = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  return isServing() && !chosen.includes('semi-space') ? servingOptions(version) : [];
}

function isServing() {
  const words = process.argv.slice(2);
  const asksHelp = words.some((word) => ['help', '--help', '-h'].includes(word));
  return !asksHelp && words.some((word) => word === 'serve' || word === 'sandbox');
}

function isLoading() {
  const words = process.argv.slice(2);
  return words[0] === 'directory' && words[1] === 'import';
}

function endWithParent() {
  delete process.env[marker];
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // Listening must not keep a command from ending.
  process.channel?.unref();
}
