import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import type { WebhookTables } from '../../src/service/webhook/index.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

describe('the stream of live events', () => {
  let world: AdminWorld;
  before(async () => {
    world = await openAdminWorld();
  });
  after(() => world?.close());

  async function open(signal: AbortSignal): Promise<{ response: Response; text: () => string }> {
    const response = await fetch(`${world.consoleUrl}/admin/v1/live`, {
      headers: world.headersOf('help-desk'),
      signal,
    });
    let received = '';
    if (response.ok && response.body !== null) {
      const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
        for await (const chunk of body) received += Buffer.from(chunk).toString();
      };
      read(response.body).catch(() => undefined);
    }
    // Without the beats, which say nothing.
    return { response, text: () => received.replaceAll('event: beat\ndata: {}\n\n', '') };
  }

  it('names the topics of changes, and is limited per operator', async () => {
    const end = new AbortController();
    const first = await open(end.signal);
    assert.match(first.response.headers.get('content-type') ?? '', /^text\/event-stream/);
    await waitFor(first.text, (text) => text.includes('welcome'));
    await world.client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.processed,
      messageSubject: 'x',
      messageBody: 'x',
    });
    await waitFor(first.text, (text) => /event: changed\ndata: \{"topics":\[[^\]]*"messages"/.test(text));
    const { webhook } = (await world.client.post('/messaging/webhooks', {
      url: 'http://127.0.0.1:9/hook',
    })) as { readonly webhook: { readonly id: string } };
    const db = world.sandbox.world.hisp.storage.tables<WebhookTables>();
    // What the message above causes is over when nothing has been said for a while.
    let heard = 0;
    await waitFor(
      async () => {
        const before = heard;
        heard = first.text().length;
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        return before === first.text().length;
      },
      (isQuiet) => isQuiet,
    );
    // A failed attempt leaves no audit row. The second one began earlier, and took longer.
    const newest = Date.now();
    for (const attempted_at of [newest, newest - 15_000]) {
      heard = first.text().length;
      await db
        .insertInto('webhook_attempt')
        .values({
          id: `attempt at ${attempted_at}`,
          webhook_id: webhook.id,
          notification_id: 'event',
          message_id: 'urn:uuid:0',
          attempt: 1,
          http_status: 503,
          error: 'HTTP 503',
          answer: '',
          attempted_at,
          duration_ms: 1,
        })
        .execute();
      await waitFor(
        () => first.text().slice(heard),
        (text) => text.includes('"topics":["webhooks"]'),
      );
    }
    const more = await Promise.all(Array.from({ length: 6 }, () => open(end.signal)));
    const statuses = more.map(({ response }) => response.status);
    assert.equal(statuses.filter((status) => status === 200).length, 5);
    assert.equal(statuses.filter((status) => status === 429).length, 1);
    end.abort();
    await waitFor(
      async () => {
        const again = new AbortController();
        const { response } = await open(again.signal);
        again.abort();
        return response.status;
      },
      (status) => status === 200,
    );
  });
});
