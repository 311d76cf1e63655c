import { servingEnvironment, servingOptions } from '../bin/node-options.js';

/** Restarts this process once with the options and the environment that `openhisp serve` gives itself. */
export function runAsServed(): void {
  const chosen = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (chosen.includes('semi-space') || process.execve === undefined) return;
  const args = [process.execPath, ...process.execArgv, ...servingOptions(), ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...servingEnvironment, ...process.env });
}
