import type { LeaseColumns } from '../../platform/index.ts';
import type { MacColumn } from '../integrity/index.ts';

/** `status` hooks get the small event; `inbound` hooks get received messages whole (Decision 0014). */
export type WebhookKind = 'status' | 'inbound';

/**
 * `waiting` is due at `next_attempt_at`; `held` waits until its disabled webhook is enabled again; `dead` has
 * exhausted its attempts and can be replayed. Delivered notifications leave the table.
 */
export type NotificationState = 'waiting' | 'held' | 'dead';

export interface WebhookRow extends MacColumn {
  id: string;
  client_id: string;
  kind: WebhookKind;
  url: string;
  description: string;
  /** Event types joined by commas. */
  event_types: string;
  is_xdm: number;
  is_enabled: number;
  /** Empty while enabled, else `client`, `gone` or `failing`. */
  disabled_reason: string;
  sealed_secret: Uint8Array;
  /** One or more, joined by blanks. */
  sealed_previous_secret: Uint8Array | null;
  previous_secret_until: number | null;
  sealed_basic: Uint8Array | null;
  failing_since: number | null;
  /** Written at most once per minute. */
  last_success_at: number | null;
  created_at: number;
  updated_at: number;
  /**
   * Not null: it gets what became of messages of that edge account, in the form of eCRNow's endpoint.
   */
  edge_account: string | null;
}

/** A client that has or had webhooks: the row that is locked while they are counted. */
export interface WebhookOwnerRow {
  client_id: string;
}

export interface NotificationRow extends LeaseColumns {
  webhook_id: string;
  client_id: string;
  kind: WebhookKind;
  event_type: string;
  /** The message the event is about, as `urn:uuid:…`; for `inbound` hooks the id of the inbox copy. */
  subject: string;
  /** The event as JSON without `attempt`; empty for `inbound` hooks, whose body is made when it is sent. */
  payload: string;
  state: NotificationState;
  attempts: number;
  /** By `Storage.clock`, in milliseconds. */
  next_attempt_at: number;
  last_status: number | null;
  last_error: string;
  created_at: number;
  settled_at: number | null;
}

/** One attempt that failed, or the one that succeeded after others had failed. Never changed. */
export interface AttemptRow {
  id: string;
  webhook_id: string;
  /** The event id. */
  notification_id: string;
  /** `urn:uuid:…` */
  message_id: string;
  attempt: number;
  http_status: number | null;
  /** Empty if it succeeded. */
  error: string;
  /** The beginning of the answer; empty for hooks that get messages. */
  answer: string;
  attempted_at: number;
  duration_ms: number;
}

export interface WebhookTables {
  webhook: WebhookRow;
  webhook_owner: WebhookOwnerRow;
  webhook_notification: NotificationRow;
  webhook_attempt: AttemptRow;
}
