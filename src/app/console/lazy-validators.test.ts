import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { Type } from 'typebox';
import { lazyValidators } from './lazy-validators.ts';

test('requests are validated by their schema, from the first one on', async () => {
  const app = fastify();
  app.setValidatorCompiler(lazyValidators);
  const schema = {
    querystring: Type.Object(
      { limit: Type.Optional(Type.Integer({ default: 5 })) },
      { additionalProperties: false },
    ),
    body: Type.Object({ name: Type.String() }),
  };
  app.post('/', { schema }, async (request) => ({ query: request.query, body: request.body }));
  const send = (query: string, payload: object) => app.inject({ method: 'POST', url: `/${query}`, payload });
  for (let time = 0; time < 2; time++) {
    assert.equal((await send('?other=1', { name: 'a' })).statusCode, 400);
    assert.equal((await send('', { name: 1 })).statusCode, 400);
    assert.deepEqual((await send('?limit=7', { name: 'a' })).json(), {
      query: { limit: 7 },
      body: { name: 'a' },
    });
    assert.deepEqual((await send('', { name: 'a' })).json(), { query: { limit: 5 }, body: { name: 'a' } });
  }
  await app.close();
});
