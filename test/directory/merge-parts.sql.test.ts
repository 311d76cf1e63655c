/** A whole merge in several parts, for directories whose overridden records do not fit into memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeAll } from '../../src/service/directory/merge/merge-all.ts';
import type { MergedEntry } from '../../src/service/directory/merge/merge-writer.ts';
import { seedOf } from '../../src/service/directory/store/provisioned.ts';
import { listSources, readChains, type SourceChain } from '../../src/service/directory/store/sources.ts';
import { loadState } from '../../src/service/directory/store/state.ts';
import type { DirectoryTables, SourceRow } from '../../src/service/directory/store/tables.ts';
import { startTestDirectory, toCsv } from './start-directory.ts';

test('gives the same records as in one part', async () => {
  const world = await startTestDirectory({ pollIntervalMs: 60_000 });
  try {
    for (const [at, sourceName] of ['npd', 'nppes', 'county'].entries()) {
      const rows = Array.from({ length: 40 }, (_, index) => ({
        serv_direct_addr: `p${index * (at + 1)}@d.example`,
        [['org_name', 'org_phone', 'prov_suffix'][at] ?? '']: sourceName,
      }));
      await world.load(toCsv(rows), 'full', { sourceName });
    }
    const db = world.storage.tables<DirectoryTables>();
    const sources = await readChains(db, await listSources(db));
    const seed = seedOf((await loadState(world.storage)).secret);
    const merge = async (linesAtOnce: number): Promise<MergedEntry[]> => {
      const entries: MergedEntry[] = [];
      const sink = { add: (entry: MergedEntry) => void entries.push(entry), drain: async () => {} };
      await mergeAll({ db, sources, seed, sink, linesAtOnce });
      return entries.toSorted((a, b) => a.id - b.id);
    };
    const whole = await merge(1000);
    const shown = whole.filter(({ line }) => ['npd', 'nppes', 'county'].every((name) => line.includes(name)));
    assert.ok(shown.length > 5, 'records that all three have said something of');
    assert.deepEqual(await merge(3), whole);
    assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length);

    const linesOf = async (among: readonly SourceChain[]): Promise<string[]> => {
      const lines: string[] = [];
      const sink = { add: ({ line }: MergedEntry) => void lines.push(line), drain: async () => {} };
      const isShown = ({ name }: SourceRow): boolean => name !== 'county';
      await mergeAll({ db, sources: among, seed, sink, linesAtOnce: 3, isShown });
      return lines;
    };
    assert.deepEqual(
      await linesOf(sources),
      await linesOf(sources.filter(({ source }) => source.name !== 'county')),
      'a source that is not shown changes the order of the others',
    );
  } finally {
    await world.close();
  }
});
