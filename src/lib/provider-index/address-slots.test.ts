import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText } from '../../core/index.ts';
import { randomDirectory } from '../../../test/support/random-directory.ts';
import { createAddressSlots } from './address-slots.ts';
import { createIndexBuilder, openChangedIndex, openIndex, type SharedIndexBytes } from './index.ts';
import { openSubIndex } from './open-index.ts';
import type { ProviderRecord } from '../provider-record/index.ts';

const seed = { low: 0x1234_5678, high: 0x9abc_def0 };

function build(records: readonly ProviderRecord[]): SharedIndexBytes {
  const builder = createIndexBuilder();
  for (const record of records) builder.add(record);
  return builder.finish();
}

/** Addresses of every form, some twice, in several spellings. */
function records(): ProviderRecord[] {
  const odd = [
    '',
    'no-domain',
    '@',
    'a@',
    '@b.example',
    'a@b@c.example',
    'Ä"@é\\.example',
    'a@b.example',
    'A@B.example',
  ];
  return randomDirectory(33, 3000).map((record, at) => {
    const directAddress = odd[at] ?? record.directAddress;
    return { ...record, directAddress };
  });
}

test('an address has one slot, whether its text or a row of an index asks for it', () => {
  const all = records();
  const base = openSubIndex(build(all));
  const moved = all.slice(0, 50).map((record, at) => ({ ...record, directAddress: `new${at}@d.example` }));
  const changed = openChangedIndex(base, { added: build(moved), removed: build(all.slice(0, 50)) });
  for (const { addresses } of [base.index, changed, openIndex(base.index.bytes)]) {
    const slots = createAddressSlots(seed);
    const ofRows = new Uint32Array(addresses.rowLimit);
    for (let from = 0; from < ofRows.length; from += 700)
      slots.putSlots(addresses, from, ofRows.subarray(from, from + 700));
    const texts = Array.from(ofRows, (_, row) => addresses.addressOf(row));
    assert.equal(slots.size, new Set(texts).size);
    const first = new Map<string, number>();
    for (const [row, text] of texts.entries()) {
      if (!first.has(text)) first.set(text, first.size);
      assert.equal(ofRows[row], first.get(text), JSON.stringify(text));
      assert.equal(slots.slotOf(foldText(text)), first.get(text));
    }
  }
});

test('slots stay the same while there are more and more, with room made before or not', () => {
  for (const reserved of [0, 1, 5000, 100_000]) {
    const slots = createAddressSlots(seed);
    const names = Array.from({ length: 50_000 }, (_, at) => `a${at}@d${at % 7}.example`);
    for (const [at, name] of names.entries()) {
      if (at === 10_000) slots.reserve(reserved);
      assert.equal(slots.slotOf(name), at);
    }
    for (const [at, name] of names.entries()) assert.equal(slots.slotOf(name), at);
    assert.equal(slots.size, names.length);
  }
});
