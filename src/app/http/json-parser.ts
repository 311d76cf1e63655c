import type { FastifyRequest } from 'fastify';
import { describeBadJson, findJsonFault, type FieldProblem } from '../../core/index.ts';
import { HttpError } from './errors.ts';
import type { HispFastify } from './types.ts';

export type JsonParser = (request: FastifyRequest, bytes: Buffer) => Promise<unknown>;

/**
 * Reads a JSON body. Throws HTTP_REQUEST_INVALID for one that holds too much, or that readers understand
 * differently, before anything is built; and for what is not JSON.
 */
export function createJsonParser(app: Pick<HispFastify, 'getDefaultJsonParser'>): JsonParser {
  const parser = app.getDefaultJsonParser('error', 'error');
  return async (request, bytes) => {
    const fault = findJsonFault(bytes);
    if (fault !== undefined) throw invalid(fault);
    return new Promise((resolve, reject) => {
      void parser(request, bytes.toString(), (error, parsed) =>
        error === null ? resolve(parsed) : reject(findBadJson(bytes) ?? error),
      );
    });
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
