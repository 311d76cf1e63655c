import type { CachedHook } from './hook-cache.ts';
import type { NotificationItem } from './store-notifications.ts';
import type { NotificationRow, WebhookRow } from './tables.ts';

/**
 * The result of one attempt. `gone` is a 410, which ends the whole subscription (HOOK-01); `unneeded` is a
 * message that was acknowledged in the meantime, so that the target is not called.
 */
export type AttemptResult = {
  readonly httpStatus: number | null;
  /**
   * The beginning of the answer to a status event; undefined for hooks that get messages, whose answers may
   * repeat content.
   */
  readonly answer?: string;
  /** The target was not called, so that the failure is none of its. */
  readonly isUncalled?: true;
} & (
  | { readonly outcome: 'delivered' | 'unneeded' }
  | {
      readonly outcome: 'failed' | 'gone';
      readonly error: string;
      /** The target asked for this pause, an hour at most. */
      readonly retryAfterMs?: number;
    }
);

/** A notification and where it goes. */
export interface Call {
  readonly row: Pick<NotificationRow, 'id' | 'subject' | 'payload' | 'attempts'>;
  readonly hook: WebhookRow;
}

/** One attempt that is over, before anything about it is stored. */
export interface Attempt {
  readonly item: NotificationItem;
  readonly hook: CachedHook;
  readonly result: AttemptResult;
  readonly startedAt: Date;
  readonly durationMs: number;
}

/** The effect of a result on the notification and its hook. */
export interface Settled {
  readonly state: 'delivered' | 'unneeded' | 'waiting' | 'dead';
  readonly disabledReason: 'gone' | 'failing' | undefined;
}
