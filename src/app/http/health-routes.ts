import { errorText, type Log } from '../../core/index.ts';
import { HttpError } from './errors.ts';
import type { RouteModule } from './types.ts';

/** Named checks of what the service cannot work without; each throws if it fails. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** Something that works badly or soon will not, though the service can serve. */
export interface DegradedPart {
  /** A stable word, for example `keys`. */
  readonly part: string;
  readonly detail: string;
}

/** `/health/live`: the process answers. `/health/ready`: everything it needs answers, too; degraded parts are listed. */
export function healthRoutes({
  checks,
  degraded = () => [],
  log,
}: {
  readonly checks: ReadinessChecks;
  readonly degraded?: (() => readonly DegradedPart[]) | undefined;
  readonly log: Log;
}): RouteModule {
  return (app) => {
    app.get(
      '/health/live',
      { schema: { summary: 'Is the process alive?', tags: ['operation'] } },
      async () => ({ status: 'OK' }),
    );
    app.get('/health/ready', { schema: { summary: 'Can it serve?', tags: ['operation'] } }, async () => {
      const failed = await findFailed(checks, log);
      if (failed.length === 0) {
        const parts = degraded();
        return { status: 'OK', checks: Object.keys(checks), ...(parts.length > 0 && { degraded: parts }) };
      }
      throw new HttpError('HTTP_NOT_READY', `not ready: ${failed.join(', ')}`, {
        problems: failed.map((name) => ({
          field: name,
          reason: 'not_ready',
          detail: `${name} is not ready.`,
        })),
      });
    });
  };
}

async function findFailed(checks: ReadinessChecks, log: Log): Promise<readonly string[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await check();
        return undefined;
      } catch (error) {
        log.warn({ check: name, reason: errorText(error) }, 'a readiness check failed');
        return name;
      }
    }),
  );
  return results.filter((name) => name !== undefined);
}
