import type { ProviderRecord } from '../../provider-record/index.ts';
import { openSubIndex } from '../open-index.ts';
import type { SharedIndexBytes } from '../types.ts';

// Most rows are distinguished from the wanted ones by the last bits of their ids alone.
const sieveMask = 0xffff;

/** The records of an index that have one of these ids. Looks at every row: a few milliseconds per million. */
export function findRecords(bytes: SharedIndexBytes, wanted: ReadonlySet<number>): ProviderRecord[] {
  const { index, context } = openSubIndex(bytes);
  const sieve = new Uint8Array(sieveMask + 1);
  for (const id of wanted) sieve[id & sieveMask] = 1;
  const records: ProviderRecord[] = [];
  for (let row = 0; row < context.rowCount; row++) {
    const id = context.idOf(row);
    if (sieve[id & sieveMask] === 1 && wanted.has(id)) records.push(index.record(row));
  }
  return records;
}
