import path from 'node:path';
import { Option, type Command } from 'commander';
import { collectGarbage, errorText, readDecimal } from '../../core/index.ts';
import type { Sandbox } from '../dev/index.ts';
import { createLog, type LogLevel } from '../../platform/index.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './describe-error.ts';
import type { NamedInstallation } from './find-installation.ts';
import { hearStops } from './hear-stops.ts';

const defaultPort = 8080;

/** DATA_DIR sets the data folder of the sandbox's HISP; its port is set here. */
const decidedHere = ['OPENHISP_DATA_DIR', 'OPENHISP_CONFIG', 'OPENHISP_HTTP_PORT', 'PORT'];

/** Adds `sandbox`: two HISPs and their world on loopback, ready to be tried. */
export function addSandboxCommand(sandbox: Command, context: CliContext): void {
  sandbox
    .option('--port <port>', 'port of the API (default: OPENHISP_HTTP_PORT, PORT or 8080)')
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged')
        .choices(['debug', 'info', 'warn', 'error', 'silent'] satisfies LogLevel[])
        .default('warn'),
    )
    .action(async (options: { port?: string; logLevel: LogLevel }) => {
      const { dataDir, config } = sandbox.optsWithGlobals<NamedInstallation>();
      if (dataDir !== undefined || config !== undefined)
        sandbox.error('The sandbox works on no installation but its own: set DATA_DIR to move its folder.');
      const port = findPort(options.port, context.env);
      const folder = path.resolve(context.env['DATA_DIR'] ?? 'data', 'sandbox');
      const startedAt = performance.now();
      const stops = hearStops(context);
      context.note(`starting the sandbox in ${folder} …`);
      // Loaded by the action: help starts without it.
      const { formatBanner, startSandbox } = await import('../dev/index.ts');
      let started: Sandbox;
      try {
        started = await startSandbox({
          folder,
          httpPort: port,
          env: Object.fromEntries(
            Object.entries(context.env).filter(([name]) => !decidedHere.includes(name)),
          ),
          log: createLog({ level: options.logLevel }),
          storageUrls: { own: context.env['OPENHISP_STORAGE_URL'] },
          onStep: (text) => context.note(text),
        });
      } catch (error) {
        context.note(describeFailure(error, port));
        context.setExitCode(1);
        return;
      }
      context.print(formatBanner(started, process.cwd()));
      context.print(`ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      stops.close(started);
      collectGarbage();
    });
}

function findPort(option: string | undefined, env: CliContext['env']): number {
  const variable = ['OPENHISP_HTTP_PORT', 'PORT'].find((name) => env[name]);
  const text = option ?? (variable === undefined ? '' : env[variable]);
  const port = text === undefined || text === '' ? defaultPort : readDecimal(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  const setting = option === undefined ? variable : '--port';
  throw new UsageError(`${setting}: the port must be a number from 0 to 65535, not ${text}`);
}

function describeFailure(error: unknown, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use. Stop what uses it, or choose another: PORT=${port + 10} npm start`;
  return `The sandbox could not start: ${errorText(error)}`;
}
