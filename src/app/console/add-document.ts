import swagger from '@fastify/swagger';
import { apiPrefix } from './guard.ts';
import type { ConsoleApp } from './types.ts';

/** Serves the OpenAPI 3.1 document of the admin API, generated from the validation schemas, to signed-in callers: `/admin/v1/openapi.json`. */
export async function addDocument(app: ConsoleApp, version: string): Promise<void> {
  await app.register(swagger, {
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'openhisp admin API',
        version,
        description:
          'The API of the console, also for scripts. x-permission is the permission that the caller needs. No answer contains message content or patient data.',
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
      const permission = route.config?.permission;
      if (!url.startsWith(apiPrefix)) return { schema: { ...schema, hide: true }, url };
      const security = permission === 'public' ? [] : [{ session: [] }, { token: [] }];
      const described = { ...schema, security, 'x-permission': permission };
      return { schema: described, url };
    },
  });
  app.get(
    `${apiPrefix}/openapi.json`,
    { config: { permission: 'signed-in' }, schema: { hide: true } },
    async () => app.swagger(),
  );
}
