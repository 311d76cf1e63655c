import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import {
  CodedError,
  createLineLimit,
  errorCode,
  networkOf,
  type FieldProblem,
  type LineLimit,
  type Log,
} from '../../core/index.ts';
import { tokenLifetimeSeconds } from '../../service/oauth/index.ts';
import { statusOfKind } from './envelope.ts';
import { sendRefusalBody } from './refusal-body.ts';
import { findClient } from './require-scope.ts';
import { readValidationProblems } from './validation.ts';

/** The public part of an error. */
interface HttpRefusal {
  readonly status: number;
  readonly problems: readonly FieldProblem[];
  readonly retryAfterSeconds: number | undefined;
  /** The challenge, if the error is about a token (RFC 6750 §3). */
  readonly challenge: string | undefined;
}

/**
 * The only mapping from errors to answers of the REST API (Decision 0005). `message` and `cause` are never
 * included.
 */
function toRefusal(error: unknown, request: FastifyRequest): HttpRefusal {
  if (error instanceof CodedError) return fromCoded(error);
  const validation = readValidationProblems(error);
  if (validation !== undefined) return refusal(400, validation);
  const status = frameworkStatus(error);
  if (error instanceof Error && (error as Partial<FastifyError>).code === 'FST_ERR_BAD_URL')
    return refusal(400, [
      { field: 'path', reason: 'not_utf8', detail: 'The path is not percent-encoded UTF-8.' },
    ]);
  return refusal(status, [
    {
      field: '',
      reason: frameworkReasons[status] ?? 'invalid',
      detail: status === 415 ? describeType(request) : (frameworkDetails[status] ?? 'Invalid request.'),
    },
  ]);
}

function fromCoded(error: CodedError): HttpRefusal {
  const status = statusOfKind[error.kind];
  const own = [{ field: '', reason: error.code.toLowerCase(), detail: error.publicMessage }];
  return {
    status,
    problems: error.problems.length > 0 ? error.problems : own,
    retryAfterSeconds: error.retryAfterSeconds ?? (status === 503 ? usualRetrySeconds : undefined),
    challenge: challengeOf(error),
  };
}

/** `Retry-After` of a 503 without a more specific time. */
const usualRetrySeconds = 10;

// RFC 6750 §3.1: no error code if the request contained no token.
function challengeOf(error: CodedError): string | undefined {
  const realm = 'Bearer realm="openhisp"';
  switch (error.code) {
    case 'OAUTH_TOKEN_MISSING':
      return realm;
    case 'OAUTH_TOKEN_MALFORMED':
      return `${realm}, error="invalid_request", error_description="The Authorization header is malformed"`;
    case 'OAUTH_TOKEN_INVALID':
      return `${realm}, error="invalid_token", error_description="The token is unknown, revoked or older than ${tokenLifetimeSeconds} seconds"`;
    case 'OAUTH_SCOPE_INSUFFICIENT':
      return `${realm}, error="insufficient_scope", scope="${String(error.fields['scope'])}"`;
    default:
      return undefined;
  }
}

const frameworkReasons: Readonly<Record<number, string>> = {
  400: 'malformed',
  404: 'unknown_address',
  413: 'too_large',
  415: 'unsupported_media_type',
  500: 'internal',
  503: 'unavailable',
};

const frameworkDetails: Readonly<Record<number, string>> = {
  400: 'The request or its body is malformed.',
  404: 'Path not found.',
  413: 'The request body is too large.',
  500: 'Internal error; retry the request.',
  503: 'The service is closing or over capacity.',
};

/** Types of bodies that some path takes. */
const bodyTypes = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/csv',
  'application/gzip',
  'application/zip',
];

function describeType({ headers, server }: FastifyRequest): string {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers;
  const taken = bodyTypes.filter((one) => server.hasContentTypeParser(one)).join(', ');
  const send = taken === '' ? 'Send no body.' : `Send ${taken}.`;
  if (encoding !== 'identity') return `A body with Content-Encoding is not accepted. ${send}`;
  if (type === undefined) return `The body has no Content-Type. ${send}`;
  return `A body with this Content-Type is not accepted here. ${send}`;
}

/** The status of a framework error; anything other than 4xx or 503 is an internal error. */
function frameworkStatus(error: unknown): number {
  const status = error instanceof Error ? (error as Partial<FastifyError>).statusCode : undefined;
  if (status === undefined) return 500;
  if (status === 503 || (status >= 400 && status < 500)) return status;
  return 500;
}

function refusal(status: number, problems: readonly FieldProblem[]): HttpRefusal {
  return {
    status,
    problems,
    retryAfterSeconds: status === 503 ? usualRetrySeconds : undefined,
    challenge: undefined,
  };
}

/** Refusals of a request itself; refusals of a token are reported where it is checked. */
const shownStatuses: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

/** Per log, so that listeners which share one share its limit. */
const limits = new WeakMap<Log, LineLimit>();

/** Lines per minute: of one cause why requests cannot be served, one fault of a route, one caller. */
const maxUnservedLines = 1;
const maxFailedLines = 20;
const maxRefusedLines = 100;

/** Sends the refusal, and logs it for the operator. */
export function sendRefusal(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): FastifyReply {
  const { status, problems, retryAfterSeconds, challenge } = toRefusal(error, request);
  const where = { requestId: request.id, route: request.routeOptions.url };
  const limit = limits.get(log) ?? createLineLimit();
  limits.set(log, limit);
  // Expected errors, such as during start-up or overload, are logged without a stack.
  const isExpected = error instanceof CodedError && error.kind === 'unavailable';
  // The readiness route logs each change; a line per probe would add nothing.
  if (isExpected && error.code === 'HTTP_NOT_READY') log.debug(where, 'not ready');
  else if (status >= 500 && isExpected)
    limit.tell(
      error.code,
      maxUnservedLines,
      () =>
        log.warn({ ...where, code: error.code, reason: error.message }, 'a request could not be served now'),
      (count) => log.warn({ code: error.code, count }, 'further requests could not be served'),
    );
  else if (status >= 500)
    limit.tell(
      `failed ${errorCode(error)} ${where.route ?? ''}`,
      maxFailedLines,
      () => log.error({ ...where, error }, 'a request failed'),
      (count) => log.error({ route: where.route, code: errorCode(error), count }, 'further requests failed'),
    );
  // A support request about a refusal has only its request id. Field names come from the caller and are
  // omitted.
  else if (shownStatuses.has(status)) {
    const clientId = findClient(request)?.clientId;
    const remoteAddress = networkOf(request.ip);
    limit.tell(
      `refused ${clientId ?? remoteAddress}`,
      maxRefusedLines,
      () =>
        log.info(
          { ...where, status, clientId, reasons: [...new Set(problems.map(({ reason }) => reason))] },
          'a request was refused',
        ),
      (count) => log.info({ clientId, remoteAddress, count }, 'further requests were refused'),
    );
  }
  if (challenge !== undefined) reply.header('WWW-Authenticate', challenge);
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds));
  return sendRefusalBody(request, reply, status, problems);
}
