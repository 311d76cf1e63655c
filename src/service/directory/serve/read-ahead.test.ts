import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { createIndexBuilder, openIndex, writeSnapshot } from '../../../lib/provider-index/index.ts';
import { readAhead } from './read-ahead.ts';

function folderOf(t: TestContext): { folder: string; file: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-ahead-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, '0123456789ab-1-0.idx');
  writeSnapshot(createIndexBuilder().finish(), file);
  return { folder, file };
}

test('the only snapshot is read ahead, and given once to whoever wants that file', async (t) => {
  const { folder, file } = folderOf(t);
  const ahead = readAhead(folder);
  assert.equal(ahead.take(path.join(folder, '0123456789ab-2-0.idx')), undefined);
  const bytes = await ahead.take(file);
  assert.equal(bytes && openIndex(bytes).recordCount, 0);
  assert.equal(ahead.take(file), undefined);
  assert.equal(ahead.isLarge, false);
  await ahead.close();
});

test('of several snapshots none is read, nor where there is no folder', async (t) => {
  const { folder, file } = folderOf(t);
  copyFileSync(file, path.join(folder, '0123456789ab-1-1.idx'));
  for (const ahead of [readAhead(folder), readAhead(path.join(folder, 'missing'))]) {
    assert.equal(ahead.take(file), undefined);
    await ahead.close();
  }
});

test('a damaged snapshot fails for whoever takes it, and for nobody else', async (t) => {
  const { folder, file } = folderOf(t);
  truncateSync(file, 20);
  const wanted = readAhead(folder);
  await assert.rejects(async () => wanted.take(file), { code: 'DIRECTORY_NOT_READY' });
  await wanted.close();
  const unwanted = readAhead(folder);
  await unwanted.close();
  assert.equal(unwanted.take(file), undefined);
});
