import type { Storage } from '../../platform/index.ts';

/** Values made once per storage, such as prepared queries. */
export function perStorage<T>(create: (storage: Storage) => T): (storage: Storage) => T {
  const made = new WeakMap<Storage, T>();
  return (storage) => {
    const known = made.get(storage);
    if (known !== undefined) return known;
    const fresh = create(storage);
    made.set(storage, fresh);
    return fresh;
  };
}
