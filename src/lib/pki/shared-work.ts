/** Begins work under a key, or joins the work in progress under it. */
export type SharedWork<T> = (key: string, begin: () => Promise<T>) => Promise<T>;

/** One download for all that wait for the same address. */
export function createSharedWork<T>(): SharedWork<T> {
  const running = new Map<string, Promise<T>>();
  return (key, begin) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    const work = begin().finally(() => running.delete(key));
    running.set(key, work);
    return work;
  };
}
