import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type CollectGarbage = (options: {
  readonly type: 'major';
  readonly execution: 'sync';
  readonly flavor: 'last-resort';
}) => void;

/**
 * Gives back what the start took: loading the program fills the young generation, which may be large here
 * (bin/node-options.js), and V8 keeps it while little is allocated. Takes a tenth of a second, once.
 */
export function releaseStartMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as CollectGarbage | undefined;
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
