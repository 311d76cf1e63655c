import type { Command } from 'commander';
import { collectGarbage, systemClock } from '../../core/index.ts';
import { createLog, findIgnoredVariables, type LogLevel } from '../../platform/index.ts';
import { hearStops } from './hear-stops.ts';
import type { CliContext } from './context.ts';
import { notifyManager } from './notify-manager.ts';
import { refuseWrongClock } from './refuse-wrong-clock.ts';

// Loaded by the action: help starts without them.
const loadDirectory = () => import('../../service/directory/index.ts');
const loadServer = () => Promise.all([import('../doctor/index.ts'), import('../server/index.ts')]);

/** Adds `serve`: this HISP alone, as configured by its operator. */
export function addServeCommand(serve: Command, context: CliContext): void {
  serve.action(async () => {
    const stops = hearStops(context);
    const config = await context.findInstallation();
    refuseWrongClock(systemClock);
    const { readAhead } = await loadDirectory();
    const ahead = readAhead(config.directory.snapshotDir);
    const [{ createDomainChecks }, { startHisp }] = await loadServer();
    const log = createLog({ level: config.log.level as LogLevel });
    for (const variable of findIgnoredVariables(context.env))
      log.warn({ variable }, 'a variable looks like a setting and has no effect; is its name right?');
    const hisp = await startHisp({
      config,
      log,
      createDomainChecks,
      ahead,
      onWaiting: (text) => void notifyManager(context.env, log, [`--status=${text}`]),
    });
    const consoleText = hisp.consoleUrl === undefined ? '' : `, console on ${hisp.consoleUrl}`;
    stops.close(hisp);
    collectGarbage();
    context.note(`API on ${hisp.baseUrl}, mail on port ${hisp.smtpPort}${consoleText}`);
    await notifyManager(context.env, log, ['--ready', '--status=serves']);
  });
}
