/** Rows for tests of reports about stored state, written without the services. */
import type { Insertable } from 'kysely';
import type { Storage } from '../../src/platform/index.ts';
import type { MessagingTables } from '../../src/service/messaging/index.ts';
import type { WebhookTables } from '../../src/service/webhook/index.ts';

/** A webhook of the client `clinic` that works; `changes` say what is different. */
export async function insertWebhook(
  storage: Storage,
  changes: Partial<Insertable<WebhookTables['webhook']>> & { readonly created_at: number },
): Promise<void> {
  await storage
    .tables<WebhookTables>()
    .insertInto('webhook')
    .values({
      id: 'hook-1',
      client_id: 'clinic',
      kind: 'status',
      url: 'https://hooks.example/secret',
      description: '',
      event_types: 'message.sent',
      is_xdm: 0,
      is_enabled: 1,
      disabled_reason: '',
      sealed_secret: Buffer.alloc(1),
      sealed_previous_secret: null,
      previous_secret_until: null,
      sealed_basic: null,
      failing_since: null,
      updated_at: changes.created_at,
      ...changes,
    })
    .execute();
}

/** Inbound mail that failed on each of its nine attempts. */
export async function insertDeadLetter(
  storage: Storage,
  { receivedMs, recipients }: { readonly receivedMs: number; readonly recipients: readonly string[] },
): Promise<void> {
  await storage
    .tables<MessagingTables>()
    .insertInto('inbound_mail')
    .values({
      id: 'mail-1',
      mail_from: 'a@b.example',
      recipients: JSON.stringify(recipients),
      sealed_mail: Buffer.alloc(1),
      content_hash: 'x',
      network: '',
      sender_domain: 'b.example',
      party: ' b.example',
      needs_fetch: 0,
      state: 'dead-letter',
      attempts: 9,
      next_attempt_at: receivedMs,
      lease_token: null,
      lease_until: 0,
      last_error: 'AGENT_X',
      received_at: receivedMs,
    })
    .execute();
}
