/** Expected refusals leave a line for the operator, and neither an error nor a stack in the log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '../../src/core/index.ts';
import type { HispFastify } from '../../src/app/http/index.ts';
import { PlatformError } from '../../src/platform/index.ts';
import { startOauthServer, type OauthServer } from '../conformance/oauth-server.ts';

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly requestId?: string;
}

const linesOf = ({ log }: OauthServer): LogLine[] => log.map((line) => JSON.parse(line) as LogLine);

function assertNoError(server: OauthServer): void {
  assert.deepEqual(
    linesOf(server).filter(({ level }) => level === 'error'),
    [],
  );
  assert.ok(!server.log.some((line) => /"stack"|\\n {4}at /.test(line)), 'a stack');
}

test('a readiness probe before the load is done is 503, and one line says so however often it is asked', async () => {
  let isLoaded = false;
  const server = await startOauthServer({
    checks: {
      directory: async () => {
        if (!isLoaded) throw new Error('the directory index is being loaded');
      },
    },
  });
  for (let probe = 0; probe < 3; probe++) {
    const answer = await server.call('/health/ready');
    assert.deepEqual([answer.status, answer.headers.has('retry-after')], [503, true]);
  }
  assert.deepEqual(
    linesOf(server)
      .filter(({ level }) => level === 'warn')
      .map(({ msg }) => msg),
    ['not ready'],
  );
  isLoaded = true;
  assert.equal((await server.call('/health/ready')).status, 200);
  assertNoError(server);
});

test('a request beyond a limit is 429 or 503 with Retry-After, at the token endpoint in the form of OAuth', async () => {
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  const routes = (app: HispFastify): void => {
    app.get('/slow', async () => {
      entered.resolve();
      await leave.promise;
      return {};
    });
    app.get('/bug', async () => {
      throw new TypeError('a bug');
    });
    app.get('/busy', async () => {
      throw new CodedError({ BUSY: { kind: 'unavailable' } }, 'BUSY', 'the database is away');
    });
  };
  const env = { OPENHISP_HTTP_MAX_REQUESTS_PER_ADDRESS: '1' };
  const server = await startOauthServer({ routes: [routes], env });
  const slow = server.call('/slow');
  await entered.promise;
  const answer = await server.call('/busy');
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '2']);
  const token = await server.token({ grant_type: 'client_credentials' });
  assert.deepEqual(
    [token.status, token.body['error'], token.headers.get('retry-after')],
    [429, 'temporarily_unavailable', '2'],
  );
  leave.resolve();
  await slow;
  assert.equal((await server.call('/busy')).status, 503);
  assertNoError(server);

  assert.equal((await server.call('/bug')).status, 500);
  assert.ok(
    linesOf(server).some(({ level }) => level === 'error'),
    'a bug is an error',
  );
  assert.ok(
    server.log.some((line) => line.includes('"stack"')),
    'with its stack',
  );
});

test('what keeps requests from being served leaves one line, and a count after a minute', async (context) => {
  const server = await startOauthServer({
    routes: [
      (app: HispFastify): void => {
        app.get('/full', async () => {
          throw new PlatformError('PLATFORM_DISK_LOW', 'only 3 bytes are free');
        });
      },
    ],
  });
  context.mock.timers.enable({ apis: ['setTimeout'] });
  for (let index = 0; index < 30; index++) assert.equal((await server.call('/full')).status, 503);
  context.mock.timers.tick(60_000);
  context.mock.timers.reset();
  const told = server.log.flatMap((line) => {
    const { level, msg, code, count } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return level === 'warn' ? [[msg, code, count]] : [];
  });
  assert.deepEqual(told, [
    ['a request could not be served now', 'PLATFORM_DISK_LOW', undefined],
    ['further requests could not be served', 'PLATFORM_DISK_LOW', 29],
  ]);
});
