import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { TSchema } from 'typebox';
import { compileValidator } from '../../src/app/http/index.ts';
import { startTestConsole } from './start-console.ts';

// The console compiles a schema at the first request that needs it, so its start does not find a broken one.
test('every schema of the console compiles', async () => {
  const routes: RouteOptions[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => void routes.push(route));
  };
  subscribe('fastify.initialization', watch);
  const console = await startTestConsole();
  try {
    const own = routes.filter(({ url }) => url.startsWith('/admin/v1/'));
    assert.ok(own.length > 60, `${own.length} routes`);
    const compileSerializer = SerializerSelector()({}, {});
    let compiled = 0;
    for (const { method, url, schema = {} } of own) {
      for (const httpPart of ['body', 'querystring', 'params'] as const) {
        if (schema[httpPart] === undefined) continue;
        const part = schema[httpPart] as TSchema;
        assert.doesNotThrow(
          () => {
            const validate = compileValidator({ schema: part, httpPart, method: String(method), url });
            void validate({});
          },
          `${String(method)} ${url}: ${httpPart}`,
        );
        compiled++;
      }
      for (const [status, answer] of Object.entries((schema.response ?? {}) as Record<string, TSchema>)) {
        const [media] = Object.values(
          (answer as { content?: Record<string, { schema: TSchema }> }).content ?? {},
        );
        assert.doesNotThrow(
          () =>
            compileSerializer({
              schema: media?.schema ?? answer,
              method: String(method),
              url,
              httpStatus: status,
            }),
          `${String(method)} ${url}: ${status}`,
        );
        compiled++;
      }
    }
    assert.ok(compiled > 200, `${compiled} schemas`);
  } finally {
    unsubscribe('fastify.initialization', watch);
    await console.close();
  }
});
