import { FetchError, type GuardedFetch } from '../../../src/lib/fetch/index.ts';

export type ServedFile = Uint8Array | { readonly status: number } | 'timeout' | 'forbidden';

/** A fetch over a table of URLs, which counts how often each was asked. What is not in it answers 404. */
export function createFilesFetch(files: Map<string, ServedFile>): {
  fetch: GuardedFetch;
  count(url: string): number;
} {
  const counts = new Map<string, number>();
  const fetch: GuardedFetch = async (url) => {
    counts.set(url, (counts.get(url) ?? 0) + 1);
    const file = files.get(url);
    if (file === 'timeout') throw new FetchError('FETCH_TIMEOUT', 'no answer in time');
    if (file === 'forbidden') throw new FetchError('FETCH_TARGET_FORBIDDEN', 'a private target');
    if (file instanceof Uint8Array) return { status: 200, headers: {}, body: file };
    return { status: file?.status ?? 404, headers: {}, body: new Uint8Array() };
  };
  return { fetch, count: (url) => counts.get(url) ?? 0 };
}
