import { STATUS_CODES } from 'node:http';
import { Type, type Static } from 'typebox';
import type { ErrorKind, FieldProblem } from '../../core/index.ts';
import { fieldReasons } from './field-reasons.ts';

export const jsonMediaType = 'application/json; charset=utf-8';

/** One fault of a request, or one warning. */
export const problemSchema = Type.Object(
  {
    field: Type.String({
      description: 'The parameter or body field with the error; empty if the error concerns none.',
    }),
    reason: Type.String({
      description: `A stable code for programs: ${Object.keys(fieldReasons).join(', ')}, or the code of the refusal in lower case.`,
    }),
    detail: Type.String({ description: 'A sentence for people.' }),
  },
  { title: 'Problem' },
);

/** The body of every refusal of both services (Decision 0005). */
const errorEnvelope = Type.Object(
  {
    status: Type.Literal('Error'),
    code: Type.Integer({ description: 'The HTTP status.' }),
    message: Type.String({
      description:
        'The text that the directory specification gives for the status, else the name of the status.',
    }),
    errors: Type.Array(problemSchema),
    requestId: Type.String({ description: 'The X-Request-Id of the answer.' }),
  },
  { title: 'Error', description: 'The format of a refusal.' },
);

export type ErrorEnvelope = Static<typeof errorEnvelope>;

/** One status per kind of error: the only place where a status is chosen. */
export const statusOfKind: Readonly<Record<ErrorKind, number>> = {
  'invalid-input': 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  untrusted: 422,
  'rate-limited': 429,
  internal: 500,
  unavailable: 503,
};

/** Directory spec: Errors, word for word; further statuses have their plain name. */
const responseKeys: Readonly<Record<number, string>> = {
  400: 'Required Params Missing',
  401: 'Authentication fail',
  403: 'Forbidden',
  404: 'Not Found',
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export function responseKey(status: number): string {
  return responseKeys[status] ?? STATUS_CODES[status] ?? 'Error';
}

export function buildErrorEnvelope(
  status: number,
  problems: readonly FieldProblem[],
  requestId: string,
): ErrorEnvelope {
  return { status: 'Error', code: status, message: responseKey(status), errors: [...problems], requestId };
}

interface ErrorResponse {
  readonly description: string;
  readonly content: Readonly<Record<'application/json', { readonly schema: typeof errorEnvelope }>>;
}

/**
 * Response schemas for the refusals of a route, to be spread into its `response`:
 * `...errorResponses(401, 403)`. 400, 429, 500 and 503 are always among them: a query that is not UTF-8 and a
 * second Host header are refused everywhere.
 */
export function errorResponses(...statuses: readonly number[]): Record<number, ErrorResponse> {
  const all = [...new Set([400, ...statuses, 429, 500, 503])];
  return Object.fromEntries(
    all.map((status) => [
      status,
      {
        description: responseKey(status),
        content: { 'application/json': { schema: errorEnvelope } },
      },
    ]),
  );
}
