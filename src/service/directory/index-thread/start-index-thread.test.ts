import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openIndex } from '../../../lib/provider-index/index.ts';
import { BlockWriter, type Block } from '../records/block.ts';
import { startIndexThread } from './start-index-thread.ts';

function blockOf(id: number, lineLength = 0): Block {
  const writer = new BlockWriter(1);
  writer.add(1, 2, id, 3, 'x'.repeat(lineLength));
  return writer.take() as Block;
}

async function buildFrom(blocks: readonly Block[]): Promise<number> {
  const thread = startIndexThread();
  try {
    for (const block of blocks) await thread.add(block);
    return openIndex(await thread.finish()).recordCount;
  } finally {
    await thread.close();
  }
}

test('an index that is given up, small or large, leaves nothing to the next one', async () => {
  for (const size of [10, 11_000_000]) {
    const thread = startIndexThread();
    await thread.add(blockOf(1, size));
    // Answered after the block.
    await assert.rejects(thread.load('no such snapshot'), { code: 'DIRECTORY_NOT_READY' });
    await thread.close();
    assert.equal(await buildFrom([blockOf(2)]), 1);
  }
});

test('a closed thread takes nothing more, and another one can be closed in the middle', async () => {
  const thread = startIndexThread();
  // An index of nothing could be built before the thread has ended.
  await thread.add(blockOf(1));
  const building = thread.finish();
  const lost = assert.rejects(building, { code: 'DIRECTORY_NOT_READY' });
  await thread.close();
  await lost;
  await thread.close();
  await assert.rejects(thread.finish(), { code: 'DIRECTORY_NOT_READY' });
  assert.deepEqual(await Promise.all([buildFrom([blockOf(1)]), buildFrom([blockOf(2), blockOf(3)])]), [1, 2]);
});
