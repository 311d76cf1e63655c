import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify, { type HTTPMethods } from 'fastify';
import { Type } from 'typebox';
import { compileValidator, readValidationProblems } from './validation.ts';

const query = Type.Object(
  {
    kind: Type.Optional(Type.Enum(['full', 'incremental'])),
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);

/** Statuses of requests with these queries, each by this method. */
async function statusesOf(method: HTTPMethods, ...queries: readonly string[]): Promise<readonly number[]> {
  const app = fastify();
  app.setValidatorCompiler(compileValidator);
  app.route({
    method: method === 'HEAD' ? 'GET' : method,
    url: '/',
    schema: { querystring: query },
    handler: async (request) => request.query,
  });
  const answers = await Promise.all(
    queries.map((text) => app.inject({ method: method as 'GET', url: `/?${text}` })),
  );
  await app.close();
  return answers.map(({ statusCode }) => statusCode);
}

test('an empty parameter counts as not sent where a request only reads', async () => {
  for (const method of ['GET', 'HEAD'])
    assert.deepEqual(await statusesOf(method, 'kind=&limit=', 'limit=2', 'limit=0'), [200, 200, 400], method);
});

test('an empty parameter is validated where a request changes something', async () => {
  for (const method of ['POST', 'PUT', 'DELETE'])
    assert.deepEqual(
      await statusesOf(method, 'kind=', 'limit=', 'kind=full', ''),
      [400, 400, 200, 200],
      method,
    );
});

test('an empty parameter that is unknown is refused, also one named like a property of every object', async () => {
  const names = ['other', 'constructor', 'toString', '__proto__'];
  assert.deepEqual(await statusesOf('GET', ...names.map((name) => `${name}=`)), [400, 400, 400, 400]);
});

test('a parameter that is given twice is named as repeated, whatever its type', async () => {
  const app = fastify();
  app.setValidatorCompiler(compileValidator);
  app.setErrorHandler((error, _request, reply) => reply.send(readValidationProblems(error)));
  app.get('/', { schema: { querystring: query } }, async () => []);
  const { body } = await app.inject({ url: '/?kind=full&kind=full&limit=1&limit=2&limit=3' });
  await app.close();
  const detail = 'The parameter may be given once.';
  assert.deepEqual(JSON.parse(body), [
    { field: 'kind', reason: 'repeated', detail },
    { field: 'limit', reason: 'repeated', detail },
  ]);
});
