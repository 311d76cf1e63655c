import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomDirectory } from '../../../test/support/random-directory.ts';
import type { ProviderRecord } from '../provider-record/index.ts';
import { entityFields } from './distinct/entity-hash.ts';
import {
  createIndexBuilder,
  hashOfEntity,
  openChangedIndex,
  openIndex,
  type EntityHash,
  type EntityKind,
  type RecordPainter,
  type SharedIndexBytes,
} from './index.ts';
import { openSubIndex } from './open-index.ts';

const seed = { low: 11, high: 12 };
const kinds: readonly EntityKind[] = ['organization', 'place'];

const painter: RecordPainter = {
  fields: entityFields.organization,
  seed,
  paint(pen) {
    pen.put('{"id":');
    pen.putId();
    for (const kind of kinds) {
      const hash = pen.entity(kind);
      pen.put(`,"${kind}":"`);
      if (hash !== undefined) pen.putHash(hash);
      pen.put('"');
    }
    pen.put('}');
  },
};

function build(records: readonly ProviderRecord[]): SharedIndexBytes {
  const builder = createIndexBuilder();
  for (const record of records) builder.add(record);
  return builder.finish();
}

const textOfHash = (hash: EntityHash | undefined): string =>
  hash === undefined ? '' : [hash.high, hash.low].map((half) => half.toString(16).padStart(8, '0')).join('');

function expectedOf(records: readonly ProviderRecord[]): Map<number, object> {
  const expected = records.map((record): [number, object] => {
    const [organization, place] = kinds.map((kind) => textOfHash(hashOfEntity(record, kind, seed)));
    return [record.id, { id: record.id, organization, place }];
  });
  return new Map(expected);
}

// More texts than hashes are kept, so that groups share a slot.
const many = randomDirectory(5, 10_000).map((record, at) => ({
  ...record,
  organization: at % 3 === 0 ? 'ÉCOLE "Ä"' : `Clinic ${at}`,
  street: at % 7 === 0 ? '' : `${at} Main St`,
}));

test('entities of painted records are those of their texts, page after page', () => {
  const index = openIndex(build(many));
  const expected = expectedOf(many);
  const { rows } = index.search({ filters: [], sort: [], offset: 0, limit: many.length });
  for (const page of [rows, rows.toReversed(), rows.subarray(0, 10), rows.subarray(5, 70)]) {
    const painted = JSON.parse(`[${Buffer.from(index.paintRecords(page, painter)).toString()}]`) as object[];
    assert.deepEqual(
      painted,
      [...page].map((row) => expected.get(index.record(row).id)),
    );
  }
});

test('an envelope surrounds a page of one index, of an index with changes, and an empty one', () => {
  const [base, added] = [many.slice(0, 50), many.slice(50, 60)];
  const changes = { added: build(added), removed: build([]) };
  const index = openChangedIndex(openSubIndex(build(base)), changes);
  const expected = expectedOf(many);
  const envelope = { before: Buffer.from('{"all":['), after: Buffer.from(']}') };
  const all = index.search({ filters: [], sort: [], offset: 0, limit: 100 }).rows;
  assert.equal(all.length, 60);
  for (const page of [
    all,
    all.filter((row) => row < 50),
    all.filter((row) => row >= 50),
    all.subarray(0, 0),
  ]) {
    const text = Buffer.from(index.paintRecords(page, painter, envelope)).toString();
    const wanted = [...page].map((row) => expected.get(index.record(row).id));
    assert.deepEqual(JSON.parse(text), { all: wanted });
  }
});

test('a derived text follows from the field, for more texts than are kept and for blank ones', () => {
  const records = many.map((record, at) => (at % 11 === 0 ? { ...record, organization: '' } : record));
  const index = openIndex(build(records));
  const lengthOf = (text: string): string => `"length":${text.length}}`;
  const deriving: RecordPainter = {
    fields: ['organization'],
    seed,
    paint(pen) {
      pen.put('{"text":"');
      pen.putField('organization');
      pen.put('",');
      pen.putDerived('organization', lengthOf);
    },
  };
  const { rows } = index.search({ filters: [], sort: [], offset: 0, limit: records.length });
  for (const page of [rows, rows.toReversed()]) {
    const painted = JSON.parse(`[${Buffer.from(index.paintRecords(page, deriving)).toString()}]`) as object[];
    const expected = Array.from(page, (row) => {
      const text = index.record(row).organization;
      return { text, length: JSON.stringify(text).length - 2 };
    });
    assert.deepEqual(painted, expected);
  }
});
