/** What the benchmark and the HISPs, which are processes of their own, tell each other. */
import type { StorageCounts } from '../../src/platform/index.ts';

/** The one argument of a HISP process, as JSON. */
export interface HispTask {
  readonly settings: Readonly<Record<string, string>>;
  readonly domain: string;
  readonly address: string;
  /** Base64 of DER. */
  readonly certificate: string;
  readonly privateKey: string;
  readonly anchor: string;
  readonly webhookUrl: string;
}

export type Question = 'usage' | 'start-profile' | 'stop-profile' | 'close';

export interface Usage {
  /** Of all threads, in milliseconds. */
  readonly cpuMs: number;
  readonly storage: StorageCounts;
  /** Longest delay of the event loop since the last question, in milliseconds. */
  readonly longestDelayMs: number;
  readonly residentBytes: number;
}

export interface Ready {
  readonly baseUrl: string;
  readonly smtpPort: number;
  readonly clientId: string;
  readonly clientSecret: string;
}

export type Answer =
  | { readonly kind: 'ready'; readonly ready: Ready }
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'profile'; readonly parts: Readonly<Record<string, number>> }
  | { readonly kind: 'done' };
