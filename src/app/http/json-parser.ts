import type { FastifyRequest } from 'fastify';
import { describeBadJson, findJsonExcess, findJsonProblem, type FieldProblem } from '../../core/index.ts';
import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

export type JsonParser = (request: FastifyRequest, bytes: Buffer) => Promise<unknown>;

/**
 * Reads a JSON body. Throws HTTP_REQUEST_INVALID for one that holds too much (`jsonLimits`), before anything
 * is built; for what is not JSON; and for what readers understand differently.
 */
export function createJsonParser(app: Pick<HispFastify, 'getDefaultJsonParser'>): JsonParser {
  const parser = app.getDefaultJsonParser('error', 'error');
  return async (request, bytes) => {
    const excess = findJsonExcess(bytes);
    if (excess !== undefined) throw invalid(excess);
    const body = await new Promise((resolve, reject) => {
      void parser(request, bytes.toString(), (error, parsed) =>
        error === null ? resolve(parsed) : reject(findBadJson(bytes) ?? error),
      );
    });
    const problem = findJsonProblem(bytes);
    if (problem !== undefined) throw invalid(problem);
    return body;
  };
}

function invalid(problem: FieldProblem): HttpError {
  return new HttpError('HTTP_REQUEST_INVALID', `${problem.field} ${problem.reason}`, { problems: [problem] });
}

/**
 * Fastify's error does not tell the place. Undefined for what only Fastify refuses: names such as
 * `__proto__`.
 */
function findBadJson(bytes: Buffer): HttpError | undefined {
  try {
    JSON.parse(bytes.toString());
    return undefined;
  } catch (error) {
    return invalid(describeBadJson(error));
  }
}
