import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { randomDirectory, randomQuery, seededRandom } from '../../../test/support/random-directory.ts';
import { wordsOf, type WordStyle } from '../search-words/index.ts';
import {
  createIndexBuilder,
  openIndex,
  ProviderIndexError,
  readSnapshot,
  checkSnapshot,
  writeSnapshot,
  type SharedIndexBytes,
} from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'openhisp-snapshot-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const records = randomDirectory(3, 500);

function build(): SharedIndexBytes {
  const builder = createIndexBuilder({ frequentRows: 20 });
  for (const record of records) builder.add(record);
  return builder.finish();
}

const bytes = build();
const path = join(folder, 'directory.idx');
const size = writeSnapshot(bytes, path);

function isRefused(error: unknown): boolean {
  return error instanceof ProviderIndexError && error.code === 'INDEX_SNAPSHOT_INVALID';
}

test('an index read from its snapshot answers as before', () => {
  const before = openIndex(bytes);
  const again = openIndex(readSnapshot(path));
  const random = seededRandom(5);
  for (let count = 0; count < 300; count++) {
    const query = randomQuery(random, records);
    assert.deepEqual(again.search(query), before.search(query));
  }
});

test('the same records give the same file, and nothing is left next to it', () => {
  const other = join(folder, 'again.idx');
  assert.equal(writeSnapshot(build(), other), size);
  assert.ok(readFileSync(other).equals(readFileSync(path)));
  assert.deepEqual(readdirSync(folder).sort(), ['again.idx', 'directory.idx']);
});

test('a snapshot is of the words that texts are split into today', () => {
  const texts = [
    "Dr. Mary-Ann O'Brien de la Cruz",
    'García-López, José',
    '(555) 123-4567 ext. 12, fax 555.123.4568',
    '5551234567 / 1-800-555-0100',
    '12345-6789 St. Mary’s Hosp. #4B',
    'mail.direct-example.org',
    `${'long'.repeat(12)} a.b.c.d.e-f`,
    '東京 Straße ﬁve 𝒜lpha',
    Array.from({ length: 70 }, (_, word) => `w${word}`).join(' '),
  ];
  const styles: readonly WordStyle[] = ['name', 'text', 'domain', 'query'];
  const words = styles.map((style) => texts.map((text) => wordsOf(text, style).map((word) => word.text)));
  const digest = createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 16);
  assert.equal(
    `${readFileSync(path).readUInt32LE(8)} ${digest}`,
    '19 03eb084a9d4a95d3',
    'texts are split into other words: raise snapshotVersion in snapshot.ts, since a node would take a snapshot of the former words as current, then note the new version and digest here',
  );
});

test('a snapshot as it was written is whole', () => checkSnapshot(path));

test('a file cut short anywhere is refused', () => {
  const whole = readFileSync(path);
  const cut = join(folder, 'cut.idx');
  for (const length of [0, 7, 23, 24, 400, Math.floor(whole.length / 2), whole.length - 1]) {
    writeFileSync(cut, whole.subarray(0, length));
    assert.throws(() => readSnapshot(cut), isRefused, `${length} bytes`);
    assert.throws(() => checkSnapshot(cut), isRefused, `${length} bytes`);
  }
});

test('a file with one bit changed anywhere is refused', () => {
  const whole = readFileSync(path);
  const changed = join(folder, 'changed.idx');
  const random = seededRandom(11);
  const places = [
    0,
    8,
    12,
    16,
    30,
    whole.length - 1,
    ...Array.from({ length: 60 }, () => Math.floor(random() * whole.length)),
  ];
  for (const place of places.filter((at) => at < 20 || at >= 24)) {
    const copy = Buffer.from(whole);
    copy[place] = (copy[place] as number) ^ 1;
    writeFileSync(changed, copy);
    assert.throws(() => readSnapshot(changed), isRefused, `byte ${place}`);
    assert.throws(() => checkSnapshot(changed), isRefused, `byte ${place}`);
  }
});

test('a file that is longer, another kind of file and no file at all are refused', () => {
  const longer = join(folder, 'longer.idx');
  writeFileSync(longer, Buffer.concat([readFileSync(path), Buffer.of(0)]));
  assert.throws(() => readSnapshot(longer), isRefused);
  const foreign = join(folder, 'foreign.idx');
  writeFileSync(foreign, 'SQLite format 3\0'.repeat(100));
  assert.throws(() => readSnapshot(foreign), isRefused);
  assert.throws(() => readSnapshot(join(folder, 'missing.idx')), isRefused);
});

test('a snapshot of another version, older or newer, is refused: the index is built again', () => {
  for (const step of [-1, 1]) {
    const other = Buffer.from(readFileSync(path));
    other.writeUInt32LE(other.readUInt32LE(8) + step, 8);
    const file = join(folder, `version${step}.idx`);
    writeFileSync(file, other);
    assert.throws(
      () => readSnapshot(file),
      (error) => isRefused(error) && /another version/.test((error as Error).message),
    );
  }
});

test('a snapshot that cannot be written leaves the old one', () => {
  const before = readFileSync(path);
  const isUnwritable = (error: unknown): boolean =>
    error instanceof ProviderIndexError && error.code === 'INDEX_SNAPSHOT_UNWRITABLE';
  assert.throws(() => writeSnapshot(bytes, join(folder, 'no-such-folder', 'directory.idx')), isUnwritable);
  chmodSync(folder, 0o700);
  assert.ok(readFileSync(path).equals(before));
});
