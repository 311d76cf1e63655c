import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { scopeNames } from '../../service/oauth/index.ts';
import type { HispFastify } from './types.ts';

// The page's own files only; the styles are set by its scripts, the images are inlined icons.
const documentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The OpenAPI 3.1 document, made from the schemas that validate: `/openapi.json`, readable at `/docs`. */
export async function addDocument(
  app: HispFastify,
  { version, publicUrl }: { readonly version: string; readonly publicUrl: string | undefined },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'openhisp',
        version,
        description:
          'Provider directory and Direct secure messaging. Every refusal has the same envelope; every answer carries X-Request-Id.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      ...(publicUrl === undefined ? {} : { servers: [{ url: publicUrl }] }),
      tags: [
        { name: 'oauth', description: 'Access tokens' },
        { name: 'directory', description: 'Search for Direct accounts' },
        { name: 'messaging', description: 'Send, follow and receive Direct messages' },
        { name: 'operation', description: 'Health' },
      ],
      components: { securitySchemes: buildSecuritySchemes() },
    },
  });
  app.addHook('onRoute', nameScopes);
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: documentPolicy,
    uiConfig: { docExpansion: 'list', deepLinking: true, displayRequestDuration: true },
    theme: {
      title: 'openhisp API',
      css: [{ filename: 'openhisp.css', content: '.swagger-ui .topbar { display: none }' }],
    },
  });
  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'));
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

function buildSecuritySchemes(): Record<string, { type: 'http'; scheme: string } | OauthScheme> {
  const scopes = {
    'provider-directory': 'Search the provider directory',
    'messaging.api': 'Send and receive Direct messages',
  } satisfies Record<(typeof scopeNames)[number], string>;
  return {
    token: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/oauth2/direct/v1/token', scopes } } },
    client: { type: 'http', scheme: 'basic' },
  };
}

interface OauthScheme {
  readonly type: 'oauth2';
  readonly flows: { clientCredentials: { tokenUrl: string; scopes: Record<string, string> } };
}

interface RouteHooks {
  schema?: { security?: unknown };
  onRequest?: unknown;
  preHandler?: unknown;
}

/** A route that checks a scope says so in the document, without its author having to repeat it. */
function nameScopes(route: RouteHooks): void {
  const scopes = [route.onRequest, route.preHandler]
    .flat()
    .flatMap((hook) => (typeof hook === 'function' && 'scope' in hook ? [hook.scope] : []));
  if (scopes.length > 0) route.schema = { security: [{ token: scopes }], ...route.schema };
}
