import { named } from './named.ts';
import { Type } from 'typebox';
import { CodedError, errorText, type FieldProblem, type Log } from '../../core/index.ts';
import { errorResponses } from './envelope.ts';
import { HttpError } from './errors.ts';
import type { RouteModule } from './types.ts';

/** Named checks of required dependencies; each throws if it fails. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** A part that is impaired or will fail soon, while the service can serve. */
export interface DegradedComponent {
  /** A stable name, for example `keys`. */
  readonly part: string;
  readonly detail: string;
  /** Work is refused because of it, now. */
  readonly isOutage?: boolean;
}

/**
 * `/health/live`: the process answers. `/health/ready`: its dependencies answer, too; degraded parts are
 * listed.
 */
export function healthRoutes({
  checks,
  degraded = () => [],
  log,
}: {
  readonly checks: ReadinessChecks;
  readonly degraded?: (() => readonly DegradedComponent[]) | undefined;
  readonly log: Log;
}): RouteModule {
  let lastNames = '';
  return (app) => {
    app.get('/health/live', { schema: liveSchema }, async () => ({ status: 'OK' as const }));
    app.get('/health/ready', { schema: readySchema }, async () => {
      const found = await findProblems(checks);
      const problems = found.map(({ problem }) => problem);
      if (problems.length === 0) {
        lastNames = '';
        const components = degraded();
        return {
          status: 'OK' as const,
          checks: Object.keys(checks),
          ...(components.length > 0 && { degraded: [...components] }),
        };
      }
      const names = problems.map(({ field }) => field).join(', ');
      // Probes come every few seconds, so only changes are logged.
      if (names !== lastNames)
        log.warn({ checks: names, reasons: found.map(({ reason }) => reason) }, 'not ready');
      lastNames = names;
      throw new HttpError('HTTP_NOT_READY', `not ready: ${names}`, { problems });
    });
  };
}

const liveSchema = {
  operationId: 'getLiveness',
  summary: 'Check that the process runs',
  description: 'Answers even under overload.',
  tags: ['operation'],
  security: [],
  response: {
    200: named('Liveness', { status: Type.Literal('OK') }),
    ...errorResponses(),
  },
};

const readySchema = {
  operationId: 'getReadiness',
  summary: 'Check that the service can serve',
  description:
    '200 if every check succeeds; 503 names the checks that fail. `degraded` lists parts that are impaired without making the service unready.',
  tags: ['operation'],
  security: [],
  response: {
    200: named('Readiness', {
      status: Type.Literal('OK'),
      checks: Type.Array(Type.String(), { description: 'Names of the checks.' }),
      degraded: Type.Optional(
        Type.Array(named('DegradedComponent', { part: Type.String(), detail: Type.String() })),
      ),
    }),
    ...errorResponses(),
  },
};

interface FoundProblem {
  readonly problem: FieldProblem;
  /** For the operator's log. */
  readonly reason: string;
}

async function findProblems(checks: ReadinessChecks): Promise<readonly FoundProblem[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await check();
        return undefined;
      } catch (error) {
        return { problem: describe(name, error), reason: `${name}: ${errorText(error)}` };
      }
    }),
  );
  return results.filter((problem) => problem !== undefined);
}

// Coded errors have a text that is safe for outsiders.
function describe(name: string, error: unknown): FieldProblem {
  if (!(error instanceof CodedError))
    return { field: name, reason: 'not_ready', detail: `${name} is not ready.` };
  return { field: name, reason: error.code.toLowerCase(), detail: error.publicMessage };
}
