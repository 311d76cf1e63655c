/** `status` hooks get the small event; `inbound` hooks get received messages whole (Decision 0014). */
export type WebhookKind = 'status' | 'inbound';

/** `waiting` is due at `next_attempt_at`; `delivered` and `dead` are settled, `dead` can be replayed. */
export type NotificationState = 'waiting' | 'delivered' | 'dead';

export interface WebhookRow {
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
  sealed_previous_secret: Uint8Array | null;
  previous_secret_until: number | null;
  sealed_basic: Uint8Array | null;
  failing_since: number | null;
  created_at: number;
  updated_at: number;
}

export interface NotificationRow {
  id: string;
  webhook_id: string;
  event_type: string;
  /** The message the event is about; for `inbound` hooks the id of the inbox copy. */
  subject: string;
  /** The event as JSON without `attempt`; empty for `inbound` hooks, whose body is made when it is sent. */
  payload: string;
  state: NotificationState;
  attempts: number;
  next_attempt_at: number;
  lease_owner: string | null;
  lease_until: number | null;
  last_status: number | null;
  last_error: string;
  created_at: number;
  settled_at: number | null;
}

export interface WebhookTables {
  webhook: WebhookRow;
  webhook_notification: NotificationRow;
}
