import { CodedError, errorText, type FieldProblem, type Log } from '../../core/index.ts';
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
      const problems = await findProblems(checks, log);
      if (problems.length === 0) {
        const parts = degraded();
        return { status: 'OK', checks: Object.keys(checks), ...(parts.length > 0 && { degraded: parts }) };
      }
      const names = problems.map(({ field }) => field).join(', ');
      throw new HttpError('HTTP_NOT_READY', `not ready: ${names}`, { problems });
    });
  };
}

async function findProblems(checks: ReadinessChecks, log: Log): Promise<readonly FieldProblem[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await check();
        return undefined;
      } catch (error) {
        log.warn({ check: name, reason: errorText(error) }, 'a readiness check failed');
        return describe(name, error);
      }
    }),
  );
  return results.filter((problem) => problem !== undefined);
}

// Errors of ours carry a text that is safe for strangers.
function describe(name: string, error: unknown): FieldProblem {
  if (!(error instanceof CodedError))
    return { field: name, reason: 'not_ready', detail: `${name} is not ready.` };
  return { field: name, reason: error.code.toLowerCase(), detail: error.publicMessage };
}
