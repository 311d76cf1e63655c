import type { SharedIndexBytes } from '../types.ts';

/** Arrays of one index, built apart. */
export function joinBytes(a: SharedIndexBytes, b: SharedIndexBytes): SharedIndexBytes {
  return {
    layout: { recordCount: a.layout.recordCount, arrays: [...a.layout.arrays, ...b.layout.arrays] },
    buffers: [...a.buffers, ...b.buffers],
  };
}
