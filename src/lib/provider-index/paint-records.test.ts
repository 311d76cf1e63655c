import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomDirectory } from '../../../test/support/random-directory.ts';
import type { ProviderRecord } from '../provider-record/index.ts';
import { entityFields, requiredFields } from './distinct/entity-hash.ts';
import {
  createIndexBuilder,
  hashOfEntity,
  keepText,
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
  shapeOf: () => 0,
  paint(pen) {
    pen.put('{"id":');
    pen.putId();
    for (const kind of kinds) {
      pen.put(`,"${kind}":"`);
      if (requiredFields[kind].some((field) => !pen.isBlank(field))) pen.putEntity(kind);
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
    shapeOf: () => 0,
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

test('records of each shape, with and without texts and positions, have their own values', () => {
  const records = many.map(({ latitude, longitude, ...record }, at) => ({
    ...record,
    suffix: at % 5 === 0 ? '' : record.suffix,
    directAddress: at % 13 === 0 ? '' : record.directAddress,
    ...(at % 4 !== 0 && latitude !== undefined && longitude !== undefined && { latitude, longitude }),
  }));
  const byId = new Map(records.map((record) => [record.id, record]));
  const index = openIndex(build(records));
  let judged = 0;
  const isNorth = ({ latitude }: { latitude?: number | undefined }): boolean => {
    judged++;
    return (latitude ?? 0) > 40;
  };
  let id = 0;
  const shaped: RecordPainter = {
    fields: ['suffix', 'state', 'directAddress'],
    seed,
    shapeOf(values) {
      ({ id } = values);
      const { directAddress } = byId.get(id) as ProviderRecord;
      assert.equal(values.isBlank('directAddress'), directAddress === '');
      assert.equal(values.text('directAddress'), JSON.stringify(directAddress).slice(1, -1));
      return (values.isTrue(['state', 'suffix'], isNorth) ? 1 : 0) + (id % 3) * 2;
    },
    paint(pen, shape) {
      pen.put(`{"shape":${shape},"own":`);
      pen.putOther(() => keepText(JSON.stringify(`Ä${id}`)));
      for (const field of ['suffix', 'directAddress'] as const) {
        if (pen.isBlank(field)) continue;
        pen.put(`,"${field}":"`);
        pen.putField(field);
        pen.put('"');
      }
      if (pen.hasPosition) {
        pen.put(',"at":[');
        pen.putLatitude();
        pen.put(',');
        pen.putLongitude();
        pen.put(']');
      }
      pen.put('}');
    },
  };
  const { rows } = index.search({ filters: [], sort: [], offset: 0, limit: records.length });
  for (const page of [rows, rows.toReversed(), rows.subarray(7, 300)]) {
    judged = 0;
    const painted = JSON.parse(`[${Buffer.from(index.paintRecords(page, shaped)).toString()}]`) as object[];
    assert.ok(judged < page.length, 'a judgement is kept');
    const expected = Array.from(page, (row) => {
      const { id: own, suffix, directAddress, latitude, longitude } = index.record(row);
      return {
        shape: ((latitude ?? 0) > 40 ? 1 : 0) + (own % 3) * 2,
        own: `Ä${own}`,
        ...(suffix !== '' && { suffix }),
        ...(directAddress !== '' && { directAddress }),
        ...(latitude !== undefined && { at: [latitude, longitude] }),
      };
    });
    assert.deepEqual(painted, expected);
  }
});
