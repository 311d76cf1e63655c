/** Rows for tests of reports about stored state, written without the services. */
import type { Insertable } from 'kysely';
import type { Storage } from '../../src/platform/index.ts';
import type { DeliveryTables } from '../../src/service/delivery/index.ts';
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

/** Mail that was received at `atMs` and waits to be opened. */
export async function insertInboundMail(
  storage: Storage,
  { atMs, ...changes }: Partial<Insertable<MessagingTables['inbound_mail']>> & { readonly atMs: number },
): Promise<void> {
  await storage
    .tables<MessagingTables>()
    .insertInto('inbound_mail')
    .values({
      id: 'mail-1',
      mail_from: 'a@b.example',
      recipients: '["b@back.example"]',
      sealed_mail: Buffer.alloc(1),
      content_hash: changes.id ?? 'x',
      network: '',
      sender_domain: 'b.example',
      party: ' b.example',
      needs_fetch: 0,
      state: 'waiting',
      attempts: 0,
      next_attempt_at: atMs,
      lease_token: null,
      lease_until: 0,
      last_error: '',
      received_at: atMs,
      ...changes,
    })
    .execute();
}

/** Inbound mail that failed on each of its nine attempts. */
export const insertDeadLetter = (
  storage: Storage,
  { receivedMs, recipients }: { readonly receivedMs: number; readonly recipients: readonly string[] },
): Promise<void> =>
  insertInboundMail(storage, {
    atMs: receivedMs,
    recipients: JSON.stringify(recipients),
    state: 'dead-letter',
    attempts: 9,
    last_error: 'AGENT_X',
  });

/** A message, or an MDN, that waits for a destination since `atMs`. */
export async function insertDelivery(
  storage: Storage,
  {
    atMs,
    id,
    kind = 'message',
    ...changes
  }: Partial<Insertable<DeliveryTables['delivery_destination']>> & {
    readonly atMs: number;
    readonly id: string;
    readonly kind?: DeliveryTables['delivery']['kind'];
  },
): Promise<void> {
  const db = storage.tables<DeliveryTables>();
  await db
    .insertInto('delivery')
    .values({
      id,
      kind,
      sender: 'a@direct.example.org',
      sealed_message: Buffer.alloc(1),
      created_at: atMs,
      message_id: id,
      destinations: 1,
      size_bytes: 1,
    })
    .execute();
  await db
    .insertInto('delivery_destination')
    .values({
      id,
      delivery_id: id,
      domain: 'two.example',
      recipients: '["b@back.example"]',
      not_after: atMs + 1e6,
      next_attempt_at: atMs,
      attempts: 0,
      lease_token: null,
      lease_until: 0,
      last_reason: '',
      last_status_code: '',
      last_error: '',
      ...changes,
    })
    .execute();
}
