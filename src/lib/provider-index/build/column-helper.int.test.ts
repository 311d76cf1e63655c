import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProviderIndexError } from '../errors.ts';
import type { ColumnsTask } from './build-columns.ts';
import { startColumnHelper } from './column-helper.ts';

test('a failure in the second thread of a build reaches the first', () => {
  const broken = {
    columns: [
      {
        name: 'city',
        values: { bytes: new Uint8Array(1), offsets: new Uint32Array(2), count: 1 },
        valueOfRecord: new Uint32Array(1),
      },
    ],
    // The row numbers are missing.
  } as unknown as ColumnsTask;
  assert.throws(
    () => startColumnHelper(broken).result(),
    (error) =>
      error instanceof ProviderIndexError &&
      error.code === 'INDEX_BUILD_FAILED' &&
      error.cause instanceof TypeError,
  );
});
