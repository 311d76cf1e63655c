import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { PlatformError } from '../errors.ts';
import { holdDataDir } from './hold-data-dir.ts';

it('a data folder has one server at a time, and is free again when that one has closed', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-hold-'));
  const held = holdDataDir(folder);
  assert.throws(
    () => holdDataDir(folder),
    (error) => error instanceof PlatformError && error.code === 'PLATFORM_DATA_DIR_BUSY',
  );
  await held.close();
  await held.close();
  await holdDataDir(folder).close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

it('a lock file that cannot be written is named', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-hold-'));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  mkdirSync(path.join(folder, 'server.lock'));
  assert.throws(() => holdDataDir(folder), {
    code: 'PLATFORM_STORAGE_UNAVAILABLE',
    message: /server\.lock cannot be written: .*file system is full or read-only/,
  });
});
