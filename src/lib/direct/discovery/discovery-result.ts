import type { Certificate } from '../../pki/index.ts';
import type { DiscoverySource, DiscoveryStep } from './steps.ts';

/** The result of discovery, before trust is checked. */
export interface DiscoveryResult {
  /** `found`: `source` has something, though `certificates` may be empty if nothing of it could be read. */
  readonly outcome: 'found' | 'absent';
  readonly source?: DiscoverySource;
  /** Not validated: dates, binding, path and revocation are checked at each use (DISC-12). */
  readonly certificates: readonly Certificate[];
  readonly steps: readonly DiscoveryStep[];
  /**
   * A place before `source` could not be asked, or not all of it, so that another try can end otherwise
   * (DISC-11).
   */
  readonly isTransient: boolean;
  readonly isFromCache: boolean;
}
