import type { CachedHook } from './hook-cache.ts';
import type { AttemptResult } from './call.ts';
import type { NotificationItem } from './store-notifications.ts';

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
