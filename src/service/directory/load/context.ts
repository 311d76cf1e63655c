import type { Clock, Log } from '../../../core/index.ts';
import type { Gazetteer } from '../../../lib/geo/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { Audit } from '../../audit/index.ts';

/** Dependencies of an import. */
export interface ImportContext {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Pick<Audit, 'recordIn'>;
  readonly gazetteer: Gazetteer;
  /** The node's folder for snapshots of the index. */
  readonly snapshotDir: string;
  /** The node that does the work; absent in a command. */
  readonly nodes?: { readonly id: string } | undefined;
  /** Increments of more entries are indexed before they are activated; tests lower it. */
  readonly changesBeforeRebuild?: number;
  /** Pairs that are merged again one by one; tests lower it. */
  readonly pairsMergedSingly?: number;
}
