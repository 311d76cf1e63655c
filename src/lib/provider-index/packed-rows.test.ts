import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomDirectory } from '../../../test/support/random-directory.ts';
import { findAscending } from './ascending.ts';
import { createArrayReader } from './arrays.ts';
import { columnNames, shownColumns } from './columns.ts';
import { createIndexBuilder, openIndex, type SharedIndexBytes } from './index.ts';
import { openPackedRows, placeFields, type PackedField } from './packed-rows.ts';

function build(ids: readonly number[] = []): SharedIndexBytes {
  const builder = createIndexBuilder();
  for (const [at, record] of randomDirectory(11, 3000).entries())
    builder.add({ ...record, id: ids[at] ?? record.id });
  return builder.finish();
}

function valuesOf(field: PackedField, count: number): number[] {
  const values = new Uint32Array(count);
  field.gather(
    Uint32Array.from(values, (_, row) => row),
    values,
  );
  return [...values];
}

test('fields lie behind one another, also across words', () => {
  assert.deepEqual(placeFields([21, 15, 32]), {
    fields: [
      { word: 0, shift: 0, bits: 21 },
      { word: 0, shift: 21, bits: 15 },
      { word: 1, shift: 4, bits: 32 },
    ],
    stride: 3,
  });
});

test('the number of a text is one of those of its group, the other fields are those of their arrays', () => {
  const bytes = build([0xffffffff, 0x80000000]);
  const arrays = createArrayReader(bytes);
  const packed = openPackedRows(arrays);
  const { recordCount } = bytes.layout;
  for (const name of columnNames.filter((one) => !shownColumns.has(one))) {
    const codes = arrays.getCodes(`${name}.codes`);
    const firsts = findAscending(`${name}.firsts`, arrays);
    for (const [row, value] of valuesOf(packed.get(name) as PackedField, recordCount).entries()) {
      const group = codes[row] as number;
      const first = firsts?.at(group) ?? group;
      assert.ok(value >= first && value < (firsts?.at(group + 1) ?? group + 1), `${name} of row ${row}`);
    }
  }
  const points = packed.get('point') as PackedField;
  assert.deepEqual(valuesOf(points, recordCount), [...arrays.getCodes('point.codes')]);
});

test('an id has up to 53 bits', () => {
  const large = [0xffffffff, 0x80000000, 2 ** 32, 2 ** 53 - 1];
  for (const ids of [large.slice(0, 2), large]) {
    const { idOf, recordCount, record } = openIndex(build(ids));
    const found = new Set(Array.from({ length: recordCount }, (_, row) => idOf(row)));
    assert.deepEqual(
      ids.filter((id) => !found.has(id)),
      [],
    );
    assert.deepEqual(found, new Set(Array.from({ length: recordCount }, (_, row) => record(row).id)));
  }
});
