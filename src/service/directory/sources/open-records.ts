import { providerFields, textFields, type ProviderRecord } from '../../../lib/provider-record/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { mergeAll } from '../merge/merge-all.ts';
import { seedOf } from '../store/provisioned.ts';
import { isOpen } from '../store/sources.ts';
import type { ClaimedSources } from '../store/claim-generation.ts';
import type { DirectoryTables } from '../store/tables.ts';

/** Records passed on at once. */
const recordsAtOnce = 1000;

/**
 * Every record that may leave freely: the merge over the open sources alone, so that no value of a closed
 * source is in it, nor an address that only closed sources have. Ids are those under which the records are
 * served. `write` gets them in portions and is waited for.
 */
export async function readOpenRecords(
  storage: Storage,
  { state, sources }: Pick<ClaimedSources, 'state' | 'sources'>,
  write: (records: readonly ProviderRecord[]) => Promise<void>,
): Promise<void> {
  const db = storage.tables<DirectoryTables>();
  const waiting: ProviderRecord[] = [];
  const hand = async (): Promise<void> => {
    while (waiting.length > 0) await write(waiting.splice(0, recordsAtOnce));
  };
  await mergeAll({
    db,
    sources: sources.filter(({ chain }) => chain.length > 0),
    seed: seedOf(state.secret),
    isShown: (source) => isOpen(source.export_right),
    sink: {
      add: ({ id, line, changedAt }) => void waiting.push(toRecord(id, line, changedAt)),
      drain: hand,
    },
  });
  await hand();
}

function toRecord(id: number, line: string, changedAt: number): ProviderRecord {
  const values = line.split('\t');
  const texts = Object.fromEntries(textFields.map((field, at) => [field, values[at] ?? '']));
  const latitude = values[providerFields.length] ?? '';
  const point =
    latitude === ''
      ? {}
      : { latitude: Number(latitude), longitude: Number(values[providerFields.length + 1]) };
  return { id, ...texts, ...point, changedAt } as unknown as ProviderRecord;
}
