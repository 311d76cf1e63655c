/**
 * Runs in a worker thread: builds an index from blocks, reads one from its snapshot, or looks records up in
 * one.
 */
import { rmSync } from 'node:fs';
import { serveTasks } from '../../../core/threads/index.ts';
import {
  createIndexBuilder,
  findRecords,
  readSnapshot,
  writeSnapshot,
  type IndexBuilder,
  type SharedIndexBytes,
} from '../../../lib/provider-index/index.ts';
import { manyRecords } from '../limits.ts';
import { addEntries } from '../records/block.ts';
import type { IndexReply, IndexRequest } from './protocol.ts';

let builder: IndexBuilder | undefined;
let recordCount = 0;

serveTasks(answer, () => []);

function answer(request: IndexRequest): IndexReply | Promise<IndexReply> {
  switch (request.kind) {
    case 'block':
      recordCount += addEntries((builder ??= createIndexBuilder()), request.block);
      return { kind: 'taken' };
    case 'reset':
      reset();
      return { kind: 'taken' };
    case 'finish':
      return finish();
    case 'write':
      return write(request.snapshotPath);
    case 'save':
      save(request.bytes, request.snapshotPath);
      return { kind: 'taken' };
    case 'load':
      return { kind: 'index', bytes: readSnapshot(request.snapshotPath) };
    case 'records':
      return { kind: 'records', records: findRecords(request.base, request.ids) };
    case 'copy':
      return { kind: 'index', bytes: copyRecords(request.base, request.ids) };
  }
}

async function finish(): Promise<IndexReply> {
  const { finished, hasMany } = take();
  return { kind: 'index', bytes: hasMany ? await finished.finishInThreads() : finished.finish() };
}

async function write(snapshotPath: string): Promise<IndexReply> {
  const { finished, hasMany } = take();
  if (!hasMany) save(finished.finish(), snapshotPath);
  else {
    rmSync(snapshotPath, { force: true });
    await finished.writeInThreads(snapshotPath);
  }
  return { kind: 'taken' };
}

function take(): { finished: IndexBuilder; hasMany: boolean } {
  const taken = { finished: builder ?? createIndexBuilder(), hasMany: recordCount >= manyRecords };
  reset();
  return taken;
}

function reset(): void {
  builder = undefined;
  recordCount = 0;
}

function save(bytes: SharedIndexBytes, snapshotPath: string): void {
  rmSync(snapshotPath, { force: true });
  writeSnapshot(bytes, snapshotPath);
}

function copyRecords(base: SharedIndexBytes, ids: ReadonlySet<number>): SharedIndexBytes {
  const copy = createIndexBuilder();
  for (const record of findRecords(base, ids)) copy.add(record);
  return copy.finish();
}
