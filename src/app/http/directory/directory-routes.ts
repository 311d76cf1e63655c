import type { FastifyReply, FastifySchema } from 'fastify';
import { viewAsBuffer } from '../../../core/index.ts';
import type { Directory } from '../../../service/directory/index.ts';
import { errorResponses, jsonMediaType } from '../envelope.ts';
import { HttpError } from '../errors.ts';
import { callerOf, readParameters } from '../directory-request.ts';
import { setRateLimitHeaders } from '../rate-limit-headers.ts';
import type { RouteModule } from '../types.ts';
import { suggestionQuery, suggestionResponse } from './suggestion-schemas.ts';
import { byNpiResponse, npiParameter, searchQuery, searchResponse } from './schemas.ts';

export interface DirectoryRoutesOptions {
  readonly directory: Pick<Directory, 'search' | 'suggest' | 'findByNpi'>;
}

const basePath = '/provider-directory/v2/providers';
const suggestionsPath = '/provider-directory/v2/suggestions';

/** The routes of the provider directory, for tokens of the scope `provider-directory`. */
export function directoryRoutes({ directory }: DirectoryRoutesOptions): RouteModule {
  return (app) => {
    const onRequest = app.requireScope('provider-directory');
    // The service checks the parameters itself, so that every message follows from its one table.
    const validatorCompiler = (): (() => true) => () => true;

    app.get(basePath, { onRequest, validatorCompiler, schema: searchSchema }, async (request, reply) => {
      const answer = await directory.search(readParameters(request), callerOf(request), (rateLimit) =>
        setRateLimitHeaders(reply, rateLimit),
      );
      return reply.type(jsonMediaType).send(viewAsBuffer(answer.json));
    });

    app.get(
      suggestionsPath,
      { onRequest, validatorCompiler, schema: suggestionSchema },
      async (request, reply) => {
        const answer = await directory.suggest(
          readParameters(request),
          callerOf(request),
          (rateLimit) => setRateLimitHeaders(reply, rateLimit),
          closingOf(reply),
        );
        return reply.type(jsonMediaType).send(viewAsBuffer(answer.json));
      },
    );

    app.get<{ Params: { npi: string } }>(
      `${basePath}/prov_npi/:npi`,
      { onRequest, validatorCompiler, schema: byNpiSchema },
      async (request, reply) => {
        refuseParameters(readParameters(request));
        const answer = await directory.findByNpi(request.params.npi, callerOf(request), (rateLimit) =>
          setRateLimitHeaders(reply, rateLimit),
        );
        return reply.type(jsonMediaType).send(viewAsBuffer(answer.json));
      },
    );
  };
}

/** Aborted when the client closes its connection before the answer: somebody has typed another letter. */
function closingOf(reply: FastifyReply): AbortSignal {
  const closing = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) closing.abort();
  });
  return closing.signal;
}

const searchSchema: FastifySchema = {
  operationId: 'searchProviders',
  'x-rate-limited': true,
  summary: 'Search providers',
  description:
    'Filters are combined with AND. Unknown, repeated or malformed parameters are refused; empty ones count as absent ' +
    '(except radius). With radius the center no longer filters and the nearest come first. Data may be shared only ' +
    "within the client's organization and with holders of a Direct address of the operator.",
  tags: ['directory'],
  querystring: searchQuery,
  response: { 200: searchResponse, ...errorResponses(401, 403) },
};

const suggestionSchema: FastifySchema = {
  operationId: 'suggestProviders',
  'x-rate-limited': true,
  summary: 'Suggest people and organizations',
  description:
    'An extension of this service: ranked suggestions for what somebody types into one box, with facets. Each Direct address ' +
    'in an answer counts against the daily quota of records. The same rules of use apply as to a search.',
  tags: ['directory'],
  querystring: suggestionQuery,
  response: { 200: suggestionResponse, ...errorResponses(401, 403) },
};

const byNpiSchema: FastifySchema = {
  operationId: 'getProvidersByNpi',
  'x-rate-limited': true,
  summary: 'Get providers by NPI',
  description: 'All records with this NPI, one per Direct address, in the order of their ids.',
  tags: ['directory'],
  params: npiParameter,
  response: { 200: byNpiResponse, ...errorResponses(401, 403, 404) },
};

/** A misspelt path must not pass for a search: `/prov_npi/1234567893?limit=1` does not limit anything. */
function refuseParameters(parameters: readonly (readonly [string, string])[]): void {
  if (parameters.length === 0) return;
  const problems = parameters.slice(0, 10).map(([name]) => ({
    field: name.slice(0, 100),
    reason: 'unknown',
    detail: 'Unknown parameter.',
  }));
  throw new HttpError('HTTP_REQUEST_INVALID', 'a request by NPI has no parameters', { problems });
}
