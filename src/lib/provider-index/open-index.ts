import type { ProviderIndex, SharedIndexBytes } from './types.ts';

/** Makes an index usable in this thread. Cheap: nothing is copied or computed. */
export declare function openIndex(bytes: SharedIndexBytes): ProviderIndex;
