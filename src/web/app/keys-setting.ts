import { useSyncExternalStore } from 'react';

const storageKey = 'keys';
const listeners = new Set<() => void>();

/** False if this browser's operator has switched the keys off. */
export const areKeysOn = (): boolean => localStorage.getItem(storageKey) !== 'off';

/**
 * Whether letters are shortcuts, and its setter. Who dictates, or hits keys unintentionally, needs a way to switch them off (WCAG 2.1.4).
 */
export function useKeysSetting(): readonly [boolean, (isOn: boolean) => void] {
  const isOn = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, areKeysOn);
  return [isOn, setKeys];
}

function setKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, 'off');
  for (const listener of listeners) listener();
}
