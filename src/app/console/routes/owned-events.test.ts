import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditRecord } from '../../../service/audit/index.ts';
import { createEventView } from './owned-events.ts';

test('rows of a message are shown by the domain of its sender, not by that in its Message-ID', () => {
  const view = createEventView(
    {
      organizationId: 'some',
      organizations: new Set(['some']),
      domains: new Set(['direct.alpha.example']),
      clients: new Set(['clinic']),
    },
    new Set(),
  );
  const seen = (action: string, objects: Readonly<Record<string, string>>): boolean =>
    view({ action, actor: 'system', objects } as unknown as AuditRecord) !== undefined;
  const foreign = {
    messageId: '<1@direct.alpha.example>',
    from: 'eve@direct.delta.example',
    to: 'b@c.example',
  };
  const own = { messageId: '<1@host.example>', from: 'Alice@direct.alpha.example', to: 'b@c.example' };
  for (const action of ['sent', 'undeliverable', 'expire', 'retry', 'fail', 'evidence'])
    assert.deepEqual(
      [seen(`message.${action}`, own), seen(`message.${action}`, foreign)],
      [true, false],
      action,
    );
});
