/** A map with limited room, which forgets the entry unused for longest when it is full. */
export interface RecentMap<Value> {
  /** Counts as use. */
  get(key: string): Value | undefined;
  /**
   * Puts or replaces an entry that takes `weight` of the room, 1 if left out. What is larger than the whole room is not
   * kept, and makes no other entry leave.
   */
  set(key: string, value: Value, weight?: number): void;
  delete(key: string): void;
  readonly size: number;
}

interface Entry<Value> {
  readonly key: string;
  value: Value;
  weight: number;
  /** Used just before this one, and just after it. */
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

/**
 * `onForget` hears of each value that leaves, whatever the reason.
 *
 * The order of use is a list beside the Map. A Map alone would do, by deleting and inserting anew whatever is used; but
 * what is deleted stays in it until it grows, and of a key used over and over every trace is looked through each time.
 */
export function createRecentMap<Value>(
  room: number,
  onForget: (value: Value) => void = () => {},
): RecentMap<Value> {
  const entries = new Map<string, Entry<Value>>();
  let oldest: Entry<Value> | undefined;
  let newest: Entry<Value> | undefined;
  let taken = 0;

  function unlink(entry: Entry<Value>): void {
    if (entry.older === undefined) oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) newest = entry.older;
    else entry.newer.older = entry.older;
  }

  function linkAsNewest(entry: Entry<Value>): void {
    entry.older = newest;
    entry.newer = undefined;
    if (newest === undefined) oldest = entry;
    else newest.newer = entry;
    newest = entry;
  }

  function remove(entry: Entry<Value>): void {
    unlink(entry);
    entries.delete(entry.key);
    taken -= entry.weight;
    onForget(entry.value);
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (entry !== newest) {
        unlink(entry);
        linkAsNewest(entry);
      }
      return entry.value;
    },
    set(key, value, weight = 1) {
      const known = entries.get(key);
      if (known !== undefined && known.value !== value) onForget(known.value);
      if (known !== undefined) unlink(known);
      const entry = known ?? { key, value, weight: 0, older: undefined, newer: undefined };
      if (known === undefined) entries.set(key, entry);
      linkAsNewest(entry);
      taken += weight - entry.weight;
      entry.value = value;
      entry.weight = weight;
      if (weight > room) remove(entry);
      while (taken > room && oldest !== undefined) remove(oldest);
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry !== undefined) remove(entry);
    },
    get size() {
      return entries.size;
    },
  };
}
