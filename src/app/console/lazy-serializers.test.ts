import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { lazySerializers } from './lazy-serializers.ts';

test('responses follow their schema, from the first one on', async () => {
  const app = fastify({ schemaController: { compilersFactory: { buildSerializer: lazySerializers } } });
  const schema = {
    response: { 200: { type: 'object', properties: { shown: { type: 'string' } }, required: ['shown'] } },
  };
  app.get('/', { schema }, async () => ({ shown: 'yes', hidden: 'no' }));
  app.get('/broken', { schema }, async () => ({ hidden: 'no' }));
  for (let time = 0; time < 2; time++) assert.deepEqual((await app.inject('/')).json(), { shown: 'yes' });
  assert.equal((await app.inject('/broken')).statusCode, 500);
  await app.close();
});
