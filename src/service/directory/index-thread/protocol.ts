import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import type { SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import type { LiveBlock } from '../store/generation.ts';

/** Requests of the main thread to the index thread. */
export type IndexRequest =
  | { readonly kind: 'block'; readonly block: LiveBlock }
  | { readonly kind: 'finish' }
  | { readonly kind: 'write'; readonly snapshotPath: string }
  | { readonly kind: 'save'; readonly bytes: SharedIndexBytes; readonly snapshotPath: string }
  | { readonly kind: 'load'; readonly snapshotPath: string }
  /** Drops the index in progress. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'records' | 'copy'; readonly base: SharedIndexBytes; readonly ids: ReadonlySet<number> };

/** The answer to a request; a failure is thrown. */
export type IndexReply =
  | { readonly kind: 'taken' }
  | { readonly kind: 'index'; readonly bytes: SharedIndexBytes }
  | { readonly kind: 'records'; readonly records: readonly ProviderRecord[] };
