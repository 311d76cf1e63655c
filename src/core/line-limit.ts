/** Log lines about what a caller can cause as often as they like. */
export interface LineLimit {
  /**
   * Writes a line at once, unless `most` lines of this kind were written within the minute. What was left out
   * is counted, and `writeRest` tells the number when the minute ends.
   */
  tell(kind: string, most: number, write: () => void, writeRest: (count: number) => void): void;
}

interface Window {
  written: number;
  leftOut: number;
}

const windowMs = 60_000;
/** Kinds counted separately. */
const maxKinds = 1000;

/** No timer runs while nothing is told. */
export function createLineLimit(): LineLimit {
  const windows = new Map<string, Window>();
  return {
    tell(kind, most, write, writeRest) {
      const key = windows.has(kind) || windows.size < maxKinds ? kind : '';
      const known = windows.get(key);
      if (known !== undefined && known.written >= most) {
        known.leftOut++;
        return;
      }
      write();
      if (known !== undefined) {
        known.written++;
        return;
      }
      const window: Window = { written: 1, leftOut: 0 };
      windows.set(key, window);
      setTimeout(() => {
        windows.delete(key);
        if (window.leftOut > 0) writeRest(window.leftOut);
      }, windowMs).unref();
    },
  };
}
