import swagger from '@fastify/swagger';
import { apiPrefix } from './guard.ts';
import type { ConsoleApp, RouteScope } from './types.ts';

/**
 * Serves the OpenAPI 3.1 document of the admin API, generated from the validation schemas, to signed-in
 * callers: `/admin/v1/openapi.json`.
 */
export async function addDocument(app: ConsoleApp, version: string): Promise<void> {
  await app.register(swagger, {
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'openhisp admin API',
        version,
        description:
          'The API of the console, also for scripts. x-permission is the permission that the caller needs. x-scope says how an operator of one organization is confined to it: caller, filtered, or what the path names must be its own; null: refused. No answer contains message content or patient data.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The console that serves this document' }],
      components: {
        securitySchemes: {
          session: { type: 'apiKey', in: 'cookie', name: 'openhisp_session' },
          token: { type: 'http', scheme: 'bearer', description: 'openhisp operator token NAME' },
        },
      },
    },
    transform({ schema, url, route }) {
      const { permission, scope } = route.config ?? {};
      if (!url.startsWith(apiPrefix)) return { schema: { ...schema, hide: true }, url };
      const security = permission === 'public' ? [] : [{ session: [] }, { token: [] }];
      const response = describeResponses(schema?.response, route.method === 'GET');
      const described = {
        ...schema,
        ...(response && { response }),
        security,
        'x-permission': permission,
        'x-scope': describeScope(scope),
      };
      return { schema: described, url };
    },
  });
  app.get(
    `${apiPrefix}/openapi.json`,
    { config: { permission: 'signed-in', scope: 'caller' }, schema: { hide: true } },
    async () => app.swagger(),
  );
}

const describeScope = (scope: RouteScope | undefined): string | null =>
  typeof scope === 'string' ? scope : (scope?.[0] ?? null);

/** What each refusal means in this API; the body names the field and the reason. */
const refusalTexts: Readonly<Record<string, string>> = {
  400: 'The request is invalid: the body names the field and the reason.',
  401: 'Not signed in: no valid session or token.',
  403: 'The role of the caller lacks the permission, or the request comes from another origin.',
  404: 'Not found.',
  409: 'The present state does not allow it: the body says why.',
  413: 'The file or body is too large.',
  415: 'The content type is not accepted.',
  429: 'Too many requests; Retry-After says when to try again.',
  500: 'A fault in this service; the log has the requestId of the body.',
  503: 'Not available now: over capacity, low disk space, or the database does not answer.',
};

/** The responses of a route, each with a description, for which the generator would write a placeholder. */
function describeResponses(response: unknown, isReading: boolean): Record<string, object> | undefined {
  if (typeof response !== 'object' || response === null) return undefined;
  return Object.fromEntries(
    Object.entries(response as Record<string, object>).map(([status, schema]) => {
      const text = refusalTexts[status] ?? describeSuccess(status, schema, isReading);
      return [
        status,
        { ...schema, ...('content' in schema ? { description: text } : { 'x-response-description': text }) },
      ];
    }),
  );
}

function describeSuccess(status: string, schema: object, isReading: boolean): string {
  if (status === '201') return 'Created.';
  if (status === '202') return 'Received; the work continues in the background.';
  if (status === '204') return 'Done; no body.';
  if (status === '303') return 'Continue at Location; a problem is in its query.';
  if ('content' in schema) {
    if ('application/x-ndjson' in (schema.content as object)) return 'NDJSON: one JSON object per line.';
    if ('text/event-stream' in (schema.content as object)) return 'Server-sent events.';
  }
  if (!isReading) return 'Done; the body is the outcome.';
  const isPage =
    'properties' in schema &&
    typeof schema.properties === 'object' &&
    schema.properties !== null &&
    'next' in schema.properties;
  return isPage
    ? 'One page; next is the cursor of the next page, null on the last one.'
    : 'The present state.';
}
