/** Messages between a HISP in a separate process and the process that started it. */
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
  /** Made at the first start and used again after a restart. */
  readonly client?: { readonly clientId: string; readonly clientSecret: string };
}

export type Question =
  | 'usage'
  | 'start-profile'
  | 'stop-profile'
  | 'inspect'
  | 'inspect-directory'
  | 'close'
  /** A file to load as the whole directory. */
  | { readonly load: string };

export interface Usage {
  /** Of all threads, in milliseconds. */
  readonly cpuMs: number;
  readonly storage: StorageCounts;
  /** Longest delay of the event loop since the last question, in milliseconds. */
  readonly longestDelayMs: number;
  readonly residentBytes: number;
}

/** Figures of a HISP's database at the end. */
export interface Inspection {
  /** Message-IDs of what is in the inbox, one per copy. */
  readonly received: readonly string[];
  readonly auditEvents: number;
  /** Rows that still wait, by table. */
  readonly waiting: Readonly<Record<string, number>>;
}

/** The directory that is served, as its number of records by the organization that all of them name. */
export interface DirectoryInspection {
  readonly recordCount: number;
  /** Records of this organization. */
  readonly organization: string;
  readonly ofOrganization: number;
  /** A load in progress is known. */
  readonly isLoading: boolean;
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
  | { readonly kind: 'inspection'; readonly inspection: Inspection }
  | { readonly kind: 'directory'; readonly directory: DirectoryInspection }
  /** The error, if any. */
  | { readonly kind: 'loaded'; readonly problem: string }
  | { readonly kind: 'profile'; readonly parts: Readonly<Record<string, number>> }
  | { readonly kind: 'done' };
