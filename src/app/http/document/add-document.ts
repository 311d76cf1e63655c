import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { packageRoot } from '../../../core/index.ts';
import type { scopeNames } from '../../../service/oauth/index.ts';
import { exampleRecipient, exampleSender } from '../messaging/schemas.ts';
import type { HispFastify } from '../types.ts';
import { completeDocument } from './complete-document.ts';
import type { JsonObject } from './name-schemas.ts';
import { pageStyles } from './page-styles.ts';

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

/** Direct addresses for the examples of the document, so that they can be sent as they stand. */
export interface ExampleAddresses {
  readonly from: string;
  readonly to: string;
}

export interface DocumentOptions {
  readonly version: string;
  readonly publicUrl: string | undefined;
  readonly exampleAddresses?: ExampleAddresses | undefined;
}

/** The OpenAPI 3.1 document, made from the schemas that validate: `/openapi.json`, readable at `/docs`. */
export async function addDocument(
  app: HispFastify,
  { version, publicUrl, exampleAddresses }: DocumentOptions,
): Promise<void> {
  await app.register(swagger, {
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'openhisp',
        version,
        description:
          'Provider directory and Direct secure messaging. Every refusal has the same envelope; every answer carries X-Request-Id.',
        contact: { name: 'The operator of this service' },
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Relative to the document. First, since the page may call only the server that it came from.
      servers: [
        { url: '/', description: 'The server that this document was read from' },
        ...(publicUrl === undefined ? [] : [{ url: publicUrl, description: 'The public address' }]),
      ],
      tags: [
        { name: 'oauth', description: 'Access tokens' },
        { name: 'directory', description: 'Search for Direct accounts' },
        { name: 'messaging', description: 'Send, follow and receive Direct messages' },
        { name: 'webhooks', description: 'Notifications to clients' },
        { name: 'provisioning', description: 'The addresses of your organization' },
        { name: 'operation', description: 'Health and trust' },
      ],
      components: { securitySchemes: buildSecuritySchemes() },
    },
    transformObject(documents) {
      if (!('openapiObject' in documents)) return documents.swaggerObject;
      const text = JSON.stringify(documents.openapiObject);
      const complete = JSON.stringify(completeDocument(JSON.parse(text) as JsonObject));
      const { from, to } = exampleAddresses ?? { from: exampleSender, to: exampleRecipient };
      return JSON.parse(
        complete.replaceAll(exampleSender, from).replaceAll(exampleRecipient, to),
      ) as typeof documents.openapiObject;
    },
  });
  app.addHook('onRoute', nameScopes);
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: documentPolicy,
    uiConfig: { docExpansion: 'list', deepLinking: true, displayRequestDuration: true },
    theme: {
      title: 'openhisp API',
      css: [{ filename: 'openhisp.css', content: pageStyles }],
    },
  });
  // The console's, which a checkout may not have built.
  const [font] = globSync(path.join(packageRoot, 'dist/console/assets/inter-*.woff2'));
  if (font !== undefined) {
    const bytes = readFileSync(font);
    app.get('/docs/inter.woff2', { schema: { hide: true } }, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=86400').type('font/woff2').send(bytes),
    );
  }
  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'));
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

function buildSecuritySchemes(): Record<string, SimpleScheme | KeyScheme | OauthScheme> {
  const scopes = {
    'provider-directory': 'Search the provider directory',
    'messaging.api': 'Send and receive Direct messages',
    provisioning: "Change the addresses of the client's organization",
    forwarding: "Deliver mail of the organization's addresses to others of them",
  } satisfies Record<(typeof scopeNames)[number], string>;
  return {
    token: {
      type: 'oauth2',
      description: 'An access token as bearer token (RFC 6750).',
      flows: { clientCredentials: { tokenUrl: '/oauth2/direct/v1/token', scopes } },
    },
    client: { type: 'http', scheme: 'basic', description: 'Client id and client secret.' },
    webhookSignature: {
      type: 'apiKey',
      in: 'header',
      name: 'webhook-signature',
      description: 'A signature with the secret of the webhook; the receiver must verify it.',
    },
  };
}

interface SimpleScheme {
  readonly type: 'http';
  readonly scheme: string;
  readonly description: string;
}

interface KeyScheme {
  readonly type: 'apiKey';
  readonly in: 'header';
  readonly name: string;
  readonly description: string;
}

interface OauthScheme {
  readonly type: 'oauth2';
  readonly description: string;
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
