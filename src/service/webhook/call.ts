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
