import swagger from '@fastify/swagger';
import { apiPrefix } from './guard.ts';
import type { ConsoleApp } from './types.ts';

/** The OpenAPI 3.1 document of the admin API, made from the schemas that validate, for who is signed in: `/admin/v1/openapi.json`. */
export async function addDocument(app: ConsoleApp, version: string): Promise<void> {
  await app.register(swagger, {
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'openhisp admin API',
        version,
        description:
          'What the console shows and does, for scripts too. x-permission names what the role of the caller must have. No answer has content or patient data.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The console that this document was read from' }],
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
