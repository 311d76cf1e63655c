type CollectGarbage = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

let collect: CollectGarbage | undefined;

/**
 * Gives back at once what this thread no longer needs; V8 itself waits until much is allocated. For the end
 * of a start, which fills the young generation, and for large arrays, which hardly count there. Takes 10 to
 * 100 ms.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
    collect = process.getBuiltinModule('node:vm').runInNewContext('globalThis.gc') as CollectGarbage;
  }
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
