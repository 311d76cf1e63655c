/** Permissions of the roles, checked on an application with one route per permission; and answers that are still being sent. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import cookie from '@fastify/cookie';
import fastify from 'fastify';
import { addRequestId, sendRefusal } from '../../src/app/http/index.ts';
import { createConsoleCookie } from '../../src/app/console/cookies.ts';
import { endStreams } from '../../src/app/console/end-streams.ts';
import { addGuard, apiPrefix } from '../../src/app/console/guard.ts';
import { publicAddressOf } from '../../src/app/console/public-address.ts';
import type { ConsoleApp } from '../../src/app/console/types.ts';
import { createManualClock, silentLog } from '../../src/core/index.ts';
import { createVault, loadConfig, type Storage } from '../../src/platform/index.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import {
  createOperators,
  roles,
  type Operators,
  type Permission,
  type Role,
} from '../../src/service/operators/index.ts';
import { everything } from '../../src/service/organizations/index.ts';
import { openTestStorage } from '../support/storage.ts';

const hour = 3_600_000;

/** As the decision says, written again. */
const allowed: Readonly<Record<Permission, readonly Role[]>> = {
  'messages.read': ['help-desk', 'operator', 'auditor'],
  'messages.change': ['help-desk', 'operator'],
  'messages.send': ['operator'],
  'legal-hold.change': ['operator'],
  'addresses.check': ['help-desk', 'operator', 'auditor'],
  'directory.read': ['help-desk', 'operator', 'auditor'],
  'directory.change': ['operator'],
  'settings.read': ['operator', 'auditor'],
  'settings.change': ['operator'],
  'audit.read': ['operator', 'auditor'],
  'audit.export': ['auditor'],
  'operators.read': ['operator', 'auditor'],
  'operators.change': ['operator'],
};
const permissions = Object.keys(allowed) as Permission[];

let storage: Storage;
let audit: Audit;
let operators: Operators;
let app: ConsoleApp;
let url: string;
const clock = createManualClock(new Date('2026-06-03T08:00:00Z'));

function createApp(): ConsoleApp {
  const made = fastify() as unknown as ConsoleApp;
  made.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply, silentLog));
  addRequestId(made);
  made.register(cookie);
  const address = () => publicAddressOf(loadConfig({}).console, 8090);
  const sessionCookie = createConsoleCookie({ address, clock }, 'openhisp_session');
  const owned = { read: async () => everything, requireOwned: async () => {} };
  const guard = { operators, audit, sessionCookie, owned };
  addGuard(made, guard);
  endStreams(made, guard, 20);
  return made;
}

before(async () => {
  storage = await openTestStorage();
  const vault = createVault(randomBytes(32));
  audit = createAudit({ storage, vault, clock, log: silentLog });
  operators = createOperators({ storage, vault, clock, audit });
  app = createApp();
  for (const permission of [...permissions, 'signed-in'] as const) {
    app.get(`${apiPrefix}/${permission}`, { config: { permission } }, async ({ operator }) => operator);
    app.get(`${apiPrefix}/${permission}/live`, { config: { permission } }, (_request, reply) => {
      reply.hijack();
      reply.raw.setHeader('content-type', 'text/event-stream').writeHead(200);
      reply.raw.write('data: begun\n\n');
    });
    app.get(`${apiPrefix}/${permission}/file`, { config: { permission } }, (_request, reply) => {
      reply.hijack();
      reply.raw.setHeader('content-type', 'text/csv').writeHead(200);
      reply.raw.write('id,subject\n');
    });
  }
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
after(async () => {
  app?.server.closeAllConnections();
  await app?.close();
  await audit?.close();
  await storage?.close();
});

/** A new operator with a bearer token. */
async function makeToken(name: string, role: Role, lifetimeMs = hour): Promise<string> {
  const operator = await operators.store.create(name, role);
  return (await operators.tokens.create(operator, { label: 'test', lifetimeMs })).token;
}

const call = (permission: Permission, authorization: string | undefined): Promise<Response> =>
  fetch(`${url}${apiPrefix}/${permission}`, {
    headers: { connection: 'close', ...(authorization !== undefined && { authorization }) },
  });

describe('roles', () => {
  for (const role of roles.filter((one) => one !== 'administrator')) {
    test(`${role} may use the permissions of the role; all else is 403 and an audit row`, async () => {
      const token = await makeToken(`role ${role}`, role);
      for (const permission of permissions) {
        const response = await call(permission, `Bearer ${token}`);
        const isAllowed = allowed[permission].includes(role);
        assert.equal(response.status, isAllowed ? 200 : 403, permission);
        if (isAllowed) continue;
        const body = (await response.json()) as { errors: { reason: string }[] };
        assert.equal(body.errors[0]?.reason, 'operators_permission_missing');
        const [row] = await audit.find({ action: 'console.refuse', limit: 1 });
        assert.equal(row?.actor, `operator:role ${role}`);
        assert.deepEqual(
          [row?.outcome, row?.objects?.['permission'], row?.objects?.['route']],
          ['refused', permission, `GET ${apiPrefix}/${permission}`],
        );
      }
    });
  }

  test('a changed role counts at the next request', async () => {
    const token = await makeToken('changing', 'help-desk');
    assert.equal((await call('settings.read', `Bearer ${token}`)).status, 403);
    await operators.store.setRole('changing', 'auditor');
    assert.equal((await call('settings.read', `Bearer ${token}`)).status, 200);
    assert.equal((await call('messages.change', `Bearer ${token}`)).status, 403);
  });

  test('a route that names no permission is an error at start', async () => {
    const other = createApp();
    assert.throws(
      () => other.get(`${apiPrefix}/forgotten`, async () => 'all of it'),
      /GET \/admin\/v1\/forgotten names no permission/,
    );
    await other.close();
  });
});

describe('bearer tokens', () => {
  test('let their operator in until they expire, are revoked, or the operator is disabled', async () => {
    const token = await makeToken('scripts', 'operator');
    const answer = (await (await call('messages.read', `Bearer ${token}`)).json()) as { name: string };
    assert.equal(answer.name, 'scripts');
    const operator = await operators.store.get('scripts');
    const second = await operators.tokens.create(operator, { label: 'x', lifetimeMs: hour });
    assert.equal(await operators.tokens.revoke(operator, second.entry.id), true);
    assert.equal((await call('messages.read', `Bearer ${second.token}`)).status, 401);
    await operators.store.disable('scripts');
    assert.equal((await call('messages.read', `Bearer ${token}`)).status, 401);
    await operators.store.enable('scripts');
    assert.equal((await call('messages.read', `Bearer ${token}`)).status, 401);
    const short = await makeToken('short', 'operator', 1000);
    clock.advance(1000);
    assert.equal((await call('messages.read', `Bearer ${short}`)).status, 401);
  });

  test('nothing else is taken for one', async () => {
    const token = await makeToken('forms', 'operator');
    for (const authorization of [
      undefined,
      token,
      `Basic ${Buffer.from(`forms:${token}`).toString('base64')}`,
      `Bearer ${token}x`,
      `Bearer ${token.toUpperCase()}`,
      `Bearer ${token.replace('openhisp_op_', '')}`,
      'Bearer ',
      `Bearer openhisp_op_${'A'.repeat(5000)}`,
    ])
      assert.equal((await call('messages.read', authorization)).status, 401, authorization?.slice(0, 40));
  });
});

describe('an answer that goes on', () => {
  async function openStream(
    token: string,
    permission: Permission | 'signed-in',
    kind: 'live' | 'file' = 'live',
  ): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
    const request = get(`${url}${apiPrefix}/${permission}/${kind}`, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {});
    await once(response, 'data');
    return response;
  }

  for (const [name, end, permission = 'audit.read'] of [
    ['is disabled', (who: string) => operators.store.disable(who)],
    ['gets a role that does not allow it', (who: string) => operators.store.setRole(who, 'help-desk')],
    ['gets another role', (who: string) => operators.store.setRole(who, 'auditor'), 'signed-in'],
  ] as const) {
    test(`ends when its operator ${name}`, async () => {
      const who = `stream ${name}`;
      const stream = await openStream(await makeToken(who, 'operator'), permission);
      const other = await openStream(await makeToken(`${who} other`, 'operator'), permission);
      const ended = new Promise<void>((resolve) => void stream.once('close', () => resolve()));
      await end(who);
      await ended;
      assert.equal(stream.complete, true, 'a browser reports an answer that breaks off as an error');
      assert.equal(other.destroyed, false);
      other.destroy();
    });
  }

  test('is cut where what is missing must be seen', async () => {
    const file = await openStream(await makeToken('file reader', 'operator'), 'audit.read', 'file');
    const ended = new Promise<void>((resolve) => void file.once('close', () => resolve()));
    await operators.store.disable('file reader');
    await ended;
    assert.equal(file.complete, false);
  });
});
