import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Role } from '../../src/service/operators/index.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly 'x-permission': string; readonly responses: object }>>>
  >;
}

/** Written down apart from the program. */
const allowed: Readonly<Record<Exclude<Role, 'administrator'>, readonly string[]>> = {
  'help-desk': ['messages.read', 'messages.change', 'addresses.check', 'directory.read'],
  operator: [
    'messages.read',
    'messages.change',
    'messages.send',
    'legal-hold.change',
    'addresses.check',
    'directory.read',
    'directory.change',
    'settings.read',
    'settings.change',
    'audit.read',
    'operators.read',
    'operators.change',
  ],
  auditor: [
    'messages.read',
    'addresses.check',
    'directory.read',
    'settings.read',
    'audit.read',
    'audit.export',
    'operators.read',
  ],
};

/** The permission of the routes that matter most, by method and path. */
const expected: readonly (readonly [string, string, string])[] = [
  ['get', '/messages', 'messages.read'],
  ['get', '/messages/{messageId}', 'messages.read'],
  ['get', '/messages/{messageId}/ticket', 'messages.read'],
  ['post', '/messages/{messageId}/retry', 'messages.change'],
  ['post', '/messages/{messageId}/fail', 'messages.change'],
  ['post', '/legal-holds', 'legal-hold.change'],
  ['post', '/legal-holds/{holdId}/release', 'legal-hold.change'],
  ['post', '/queue/actions', 'messages.change'],
  ['get', '/inbound/{id}', 'messages.read'],
  ['post', '/inbound/{id}/retry', 'messages.change'],
  ['post', '/address-checks', 'addresses.check'],
  ['get', '/directory/search', 'directory.read'],
  ['post', '/directory/loads', 'directory.change'],
  ['post', '/directory/sources/{name}/rollback', 'directory.change'],
  ['post', '/directory/verification', 'directory.change'],
  ['get', '/webhooks', 'settings.read'],
  ['post', '/webhooks', 'settings.change'],
  ['post', '/webhooks/{id}/replay', 'settings.change'],
  ['post', '/webhooks/{id}/disable', 'settings.change'],
  ['post', '/clients', 'settings.change'],
  ['post', '/clients/{id}/secrets', 'settings.change'],
  ['post', '/domains', 'settings.change'],
  ['post', '/domains/{domain}/anchors', 'settings.change'],
  ['put', '/addresses/{address}', 'settings.change'],
  ['put', '/addresses/{address}/forwarding', 'settings.change'],
  ['get', '/edge-accounts', 'settings.read'],
  ['post', '/edge-accounts', 'settings.change'],
  ['get', '/nodes', 'settings.read'],
  ['get', '/operators', 'operators.read'],
  ['post', '/operators', 'operators.change'],
  ['patch', '/operators/{name}', 'operators.change'],
  ['delete', '/operators/{name}/sessions/{id}', 'operators.change'],
  ['get', '/usage', 'messages.read'],
  ['get', '/audit', 'audit.read'],
  ['get', '/audit/export', 'audit.export'],
  ['post', '/test-messages', 'messages.send'],
  ['get', '/playground', 'messages.send'],
];

describe('permissions of the admin API', () => {
  let world: AdminWorld;
  let document: Document;
  before(async () => {
    world = await openAdminWorld();
    ({ body: document } = await world.call<Document>('auditor', 'GET', '/openapi.json'));
  });
  after(() => world?.close());

  it('is described by an OpenAPI document that needs a session and names the permission of each route', async () => {
    assert.equal(document.openapi, '3.1.0');
    const anonymous = await fetch(`${world.consoleUrl}/admin/v1/openapi.json`);
    assert.equal(anonymous.status, 401);
    for (const [method, path, permission] of expected)
      assert.equal(
        document.paths[`/admin/v1${path}`]?.[method]?.['x-permission'],
        permission,
        `${method} ${path}`,
      );
  });

  it('refuses on every route each role that lacks its permission, and a caller without a session', async () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method,
        permission: operation['x-permission'],
      })),
    );
    const guarded = operations.filter(({ permission }) => permission.includes('.'));
    assert.ok(guarded.length >= 35, `${guarded.length} routes`);
    for (const { path, method, permission } of guarded) {
      // Names that do not exist and no body: whoever may call is told so, and nothing is changed.
      const target = path.replace('/admin/v1', '').replaceAll(/\{[^}]+\}/g, 'nothing-of-this-name');
      for (const role of ['help-desk', 'operator', 'auditor'] as const) {
        const { status } = await world.call(role, method.toUpperCase(), target);
        const isAllowed = allowed[role].includes(permission);
        assert.equal(
          status !== 403,
          isAllowed,
          `${role}: ${method} ${path} (${permission}) answered ${status}`,
        );
        assert.ok(status !== 500, `${role}: ${method} ${path} answered ${status}`);
      }
      const anonymous = await fetch(`${world.consoleUrl}/admin/v1${target}`, {
        method: method.toUpperCase(),
      });
      await anonymous.body?.cancel();
      assert.ok(
        [401, 403].includes(anonymous.status),
        `nobody: ${method} ${path} answered ${anonymous.status}`,
      );
    }
    const refusals = await world.sandbox.world.hisp.audit.find({ action: 'console.refuse', limit: 1000 });
    assert.ok(refusals.length > 0);
  });
});
