import { STATUS_CODES } from 'node:http';
import { buildErrorEnvelope } from '../envelope.ts';
import {
  answerHeaders,
  rateLimitHeaders,
  referTo,
  requestIdParameter,
  type AnswerHeader,
} from './headers.ts';
import { createSchemaNames, isObject, type Json, type JsonObject } from './name-schemas.ts';
import { describeWebhooks } from './webhooks.ts';

/** A route whose answers carry the RateLimit headers says so by this member of its schema. */
const rateLimitedMark = 'x-rate-limited';
/** The same for a route whose body may be left out. */
const optionalBodyMark = 'x-optional-body';

/**
 * Completes the document generated from the routes' schemas: adds named schemas, refusals as shared responses
 * with their headers, and the payloads of webhooks.
 */
export function completeDocument(made: JsonObject): JsonObject {
  const names = createSchemaNames();
  const refusals = new Map<string, JsonObject>();
  const paths = mapObject(objectIn(made, 'paths'), (path) =>
    mapObject(path, (operation) => completeOperation(operation, refusals)),
  );
  const named = names.replace(paths);
  const hasWebhooks = '/messaging/webhooks' in paths;
  const webhooks = hasWebhooks ? { webhooks: names.replace(describeWebhooks()) } : {};
  const responses = names.replace(Object.fromEntries(refusals));
  return {
    ...made,
    paths: named,
    ...webhooks,
    components: {
      ...objectIn(made, 'components'),
      schemas: names.list(),
      responses,
      headers: answerHeaders,
      parameters: { RequestId: requestIdParameter },
    },
  };
}

function completeOperation(operation: JsonObject, refusals: Map<string, JsonObject>): JsonObject {
  const { [rateLimitedMark]: isLimited, [optionalBodyMark]: hasOptionalBody, ...rest } = operation;
  const hasLimits = isLimited === true;
  const stated = objectIn(operation, 'responses');
  const all = {
    ...stated,
    ...refusalLike(stated, 405),
    ...('requestBody' in operation && { 408: inEnvelope(stated, 408) }),
    431: inEnvelope(stated, 431),
  };
  const responses = Object.entries(all).map(([status, response]): [string, Json] => {
    if (!isObject(response)) throw new TypeError(`status ${status} has no description`);
    if (['408', '431'].includes(status) && !('content' in response)) return [status, response];
    // Refused before the request is counted.
    const isCounted = hasLimits && !['401', '405', '408', '431'].includes(status);
    const headers = headersOf(Number(status), isCounted);
    const own = isObject(response['headers']) ? response['headers'] : {};
    // The framework's text for an answer without a description.
    const isPlain = response['description'] === 'Default Response';
    const description = isPlain ? (STATUS_CODES[status] ?? status) : response['description'];
    const whole = {
      ...response,
      description: description ?? status,
      headers: { ...referTo(headers), ...own },
    };
    if (titleOf(response) !== 'Error') return [status, whole];
    const name = `${nameOf(Number(status))}${isCounted ? 'Limited' : ''}`;
    refusals.set(name, { ...whole, content: exampleContent(whole, Number(status)) });
    return [status, { $ref: `#/components/responses/${name}` }];
  });
  const requestBody =
    hasOptionalBody === true
      ? { requestBody: { ...objectIn(operation, 'requestBody'), required: false } }
      : {};
  const parameters = Array.isArray(operation['parameters'])
    ? (operation['parameters'] as readonly Json[])
    : [];
  return {
    ...rest,
    parameters: [...parameters, { $ref: '#/components/parameters/RequestId' }],
    ...requestBody,
    responses: Object.fromEntries(responses),
  };
}

/**
 * Refused before the route is known or called: the body is the envelope, also where other refusals have
 * another form. There it has no schema, so that clients need not tell two forms apart.
 */
function inEnvelope(stated: JsonObject, status: 408 | 431): JsonObject {
  const { [status]: refusal } = refusalLike(stated, status);
  if (isObject(refusal)) return refusal;
  const detail = exampleProblems[status]?.detail ?? '';
  return { description: `${detail} The body is the error envelope.` };
}

/**
 * Another method (405) and a body that arrives too slowly (408, Decision 0020) get the envelope on every path
 * that uses it.
 */
function refusalLike({ 400: malformed }: JsonObject, status: 405 | 408 | 431): JsonObject {
  if (!isObject(malformed) || titleOf(malformed) !== 'Error') return {};
  return { [status]: { ...malformed, description: responseName(status) } };
}

function headersOf(status: number, isCounted: boolean): readonly AnswerHeader[] {
  return ['X-Request-Id', ...(headersByStatus[status] ?? []), ...(isCounted ? rateLimitHeaders : [])];
}

const headersByStatus: Readonly<Record<number, readonly AnswerHeader[]>> = {
  // RFC 6750 §3.1: a malformed Authorization header is a 400 with a challenge.
  400: ['WWW-Authenticate'],
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

// Node has another name for 413.
const responseName = (status: number): string =>
  status === 413 ? 'Content Too Large' : (STATUS_CODES[status] ?? String(status));

/** `Bad Request` → `BadRequest`. */
function nameOf(status: number): string {
  return responseName(status).replaceAll(/[^A-Za-z]/g, '');
}

function titleOf(response: JsonObject): Json | undefined {
  const content = response['content'];
  if (!isObject(content)) return undefined;
  const [media] = Object.values(content);
  const schema = isObject(media) ? media['schema'] : undefined;
  return isObject(schema) ? schema['title'] : undefined;
}

/** A refusal as it looks with this status. */
function exampleContent(response: JsonObject, status: number): JsonObject {
  const problem = exampleProblems[status] ?? {
    field: '',
    reason: 'invalid',
    detail: 'The request is not valid.',
  };
  const example = buildErrorEnvelope(status, [problem], answerHeaders['X-Request-Id']['example'] as string);
  return mapObject(objectIn(response, 'content'), (media) => ({ ...media, example: example as never }));
}

const exampleProblems: Readonly<Record<number, { field: string; reason: string; detail: string }>> = {
  400: { field: 'toDirectAddress', reason: 'required', detail: 'This field is required.' },
  401: { field: '', reason: 'oauth_token_invalid', detail: 'The token is unknown, expired or revoked.' },
  403: { field: '', reason: 'oauth_scope_insufficient', detail: 'The token is not for this service.' },
  404: { field: '', reason: 'messaging_message_not_found', detail: 'Message not found.' },
  405: { field: '', reason: 'method_not_allowed', detail: 'This path accepts GET, POST.' },
  408: { field: '', reason: 'too_slow', detail: 'The body of the request arrived too slowly.' },
  409: {
    field: 'messageId',
    reason: 'reused',
    detail: 'This messageId was already used for another message.',
  },
  413: { field: '', reason: 'too_large', detail: 'The request body is too large.' },
  415: {
    field: '',
    reason: 'unsupported_media_type',
    detail: 'A body with this Content-Type is not accepted here. Send application/json.',
  },
  431: {
    field: '',
    reason: 'request_headers_too_large',
    detail: 'The request headers are larger than 16 KiB.',
  },
  429: {
    field: '',
    reason: 'http_client_busy',
    detail: 'This client has too many or too large concurrent requests; retry later.',
  },
  500: { field: '', reason: 'internal', detail: 'Internal error; retry the request.' },
  503: { field: '', reason: 'http_overloaded', detail: 'The service is over capacity; retry later.' },
};

function objectIn(parent: JsonObject, name: string): JsonObject {
  const value = parent[name];
  return isObject(value) ? value : {};
}

function mapObject(value: JsonObject, change: (member: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isObject(member) ? change(member) : member]),
  );
}
