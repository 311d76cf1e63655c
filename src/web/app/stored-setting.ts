import { useSyncExternalStore } from 'react';

/** A setting that this browser keeps in its local storage. */
export interface StoredSetting<Value> {
  current(): Value;
  /** The current value, as a hook: the component is rendered again after each change. */
  use(): Value;
  /** Stores a text, or nothing for the default. */
  store(text: string | undefined): void;
}

/** The setting under `storageKey`; `read` makes its value of the stored text, null if there is none. */
export function createStoredSetting<Value>(
  storageKey: string,
  read: (text: string | null) => Value,
): StoredSetting<Value> {
  const listeners = new Set<() => void>();
  const current = (): Value => read(localStorage.getItem(storageKey));
  const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    current,
    use: () => useSyncExternalStore(subscribe, current),
    store(text) {
      if (text === undefined) localStorage.removeItem(storageKey);
      else localStorage.setItem(storageKey, text);
      for (const listener of listeners) listener();
    },
  };
}
