import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { insertDelivery, insertInboundMail, insertWebhook } from '../../../test/support/stored-rows.ts';
import { createManualClock } from '../../core/index.ts';
import { createMetrics, loadConfig } from '../../platform/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import type { DeliveryTables } from '../../service/delivery/index.ts';
import type { MessagingTables } from '../../service/messaging/index.ts';
import type { WebhookTables } from '../../service/webhook/index.ts';
import { registerGauges } from './register-gauges.ts';

test('gauges show ages and failures; an unreadable one is NaN and does not affect the others', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'openhisp-gauges-'));
  try {
    const storage = await openTestStorage();
    const metrics = createMetrics();
    const clock = createManualClock(new Date('2026-06-03T00:00:00Z'));
    const bundle = {
      id: 'b1',
      domain: 'direct.example.org',
      direction: 'both' as const,
      url: 'https://bundles.example/a.p7b',
      anchorCount: 1,
      refreshedAt: new Date('2026-06-01T00:00:00Z'),
      nextRefreshAt: new Date(0),
      createdAt: new Date('2026-06-01T00:00:00Z'),
      refreshSeconds: 86_400,
      checksum: '',
      lastError: '',
      health: { level: 'ok' as const, text: '' },
    };
    const bundles = [
      bundle,
      {
        ...bundle,
        id: 'b2',
        refreshedAt: undefined,
        nextRefreshAt: new Date(0),
        lastError: 'timeout',
        health: { level: 'failed' as const, text: '' },
      },
    ];
    const config = loadConfig({}, undefined, { dataDir });
    registerGauges({ config, storage, trust: { listBundles: async () => bundles }, clock, metrics });
    const read = async (name: string) =>
      new RegExp(`^openhisp_${name} (\\S+)$`, 'm').exec(await metrics.text())?.[1];
    assert.equal(await read('bundle_age_seconds'), String(2 * 86_400));
    assert.equal(await read('bundles_failing'), '1');
    assert.equal(await read('webhooks_failing'), '0');
    assert.equal((await read('directory_age_seconds'))?.toLowerCase(), 'nan');
    await storage.close();
    assert.equal((await read('webhooks_failing'))?.toLowerCase(), 'nan');
    assert.equal(await read('bundles_failing'), '1');
  } finally {
    await rm(dataDir, { recursive: true, maxRetries: 5 });
  }
});

test('gauges show depth and age of queues by kind and reason, and unacknowledged messages', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'openhisp-gauges-'));
  const storage = await openTestStorage();
  try {
    const metrics = createMetrics();
    const clock = createManualClock(new Date('2026-06-03T00:00:00Z'));
    const config = loadConfig({}, undefined, { dataDir });
    registerGauges({ config, storage, trust: { listBundles: async () => [] }, clock, metrics });
    const lines = async () => {
      const text = await metrics.text();
      return text.split('\n').filter((line) => /^openhisp_(queue|notifications|inbox)_/.test(line));
    };
    assert.deepEqual(await lines(), [
      'openhisp_notifications_depth{state="waiting"} 0',
      'openhisp_notifications_depth{state="held"} 0',
      'openhisp_notifications_depth{state="dead"} 0',
      'openhisp_notifications_oldest_seconds{state="waiting"} 0',
      'openhisp_notifications_oldest_seconds{state="held"} 0',
      'openhisp_notifications_oldest_seconds{state="dead"} 0',
      'openhisp_inbox_unacknowledged 0',
      'openhisp_inbox_unacknowledged_oldest_seconds 0',
    ]);
    const now = clock.now().getTime();
    const lease = { lease_token: null, lease_until: 0 };
    for (const [id, kind, reason, minutes] of [
      ['d1', 'message', 'unreachable', 90],
      ['d2', 'message', 'unreachable', 30],
      ['d3', 'mdn', '', 1],
    ] as const)
      await insertDelivery(storage, { id, kind, atMs: now - minutes * 60_000, last_reason: reason });
    const messaging = storage.tables<MessagingTables>();
    const mail = { atMs: now - 60_000, last_error: 'DNS_TIMEOUT' };
    await insertInboundMail(storage, { ...mail, id: 'm1' });
    await insertInboundMail(storage, { ...mail, id: 'm2', state: 'dead-letter' });
    await messaging
      .insertInto('inbox_message')
      .values({
        id: 'i1',
        sender: 'a@b.example',
        wire_id: 'w',
        sealed_message: Buffer.alloc(1),
        requests_final_delivery: 0,
        attachment_count: 0,
        size_bytes: 1,
        received_at: now,
      })
      .execute();
    const copy = {
      message_id: 'i1',
      address: 'x@direct.example.org',
      address_key: 'x@direct.example.org',
      domain: 'direct.example.org',
      warned_at: null,
    };
    await messaging
      .insertInto('inbox_copy')
      .values([
        { ...copy, id: 'c1', acknowledged_at: null, received_at: now - 7_200_000 },
        { ...copy, id: 'c2', acknowledged_at: now, received_at: now - 9_000_000 },
      ])
      .execute();
    const webhooks = storage.tables<WebhookTables>();
    await webhooks.insertInto('webhook_owner').values({ client_id: 'clinic' }).execute();
    await insertWebhook(storage, { id: 'h1', url: 'https://hooks.example', created_at: now });
    const notification = {
      ...lease,
      webhook_id: 'h1',
      client_id: 'clinic',
      kind: 'status',
      event_type: 'message.sent',
      subject: 's',
      payload: '{}',
      attempts: 0,
      next_attempt_at: 0,
      last_error: '',
      created_at: now - 30_000,
    } as const;
    await webhooks
      .insertInto('webhook_notification')
      .values([
        { ...notification, id: 'n1', state: 'waiting' },
        { ...notification, id: 'n2', state: 'dead', settled_at: now },
      ])
      .execute();
    // Counted at most once in 15 s.
    assert.equal((await lines()).length, 8);
    clock.advance(20_000);
    assert.deepEqual(
      (await lines()).toSorted((a, b) => a.localeCompare(b)),
      [
        'openhisp_inbox_unacknowledged 1',
        'openhisp_inbox_unacknowledged_oldest_seconds 7220',
        'openhisp_notifications_depth{state="dead"} 1',
        'openhisp_notifications_depth{state="held"} 0',
        'openhisp_notifications_depth{state="waiting"} 1',
        'openhisp_notifications_oldest_seconds{state="dead"} 50',
        'openhisp_notifications_oldest_seconds{state="held"} 0',
        'openhisp_notifications_oldest_seconds{state="waiting"} 50',
        'openhisp_queue_depth{kind="inbound",reason="DNS_TIMEOUT"} 1',
        'openhisp_queue_depth{kind="mdn",reason="none"} 1',
        'openhisp_queue_depth{kind="message",reason="unreachable"} 2',
        'openhisp_queue_oldest_seconds{kind="inbound",reason="DNS_TIMEOUT"} 80',
        'openhisp_queue_oldest_seconds{kind="mdn",reason="none"} 80',
        'openhisp_queue_oldest_seconds{kind="message",reason="unreachable"} 5420',
      ],
    );
    // A removed series is not exported.
    await storage.tables<DeliveryTables>().deleteFrom('delivery_destination').execute();
    clock.advance(20_000);
    assert.ok(!(await lines()).some((line) => line.includes('kind="m')));
  } finally {
    await storage.close();
    await rm(dataDir, { recursive: true, maxRetries: 5 });
  }
});
