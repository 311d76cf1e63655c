import { combine, hashBytes, type MutableHash } from './distinct/entity-hash.ts';
import type { FilterContext } from './filter-context.ts';
import { groupsEqualTo } from './find-groups.ts';
import type { TextColumn } from './text-column.ts';
import type { AddressList, EntitySeed } from './types.ts';

/** The Direct addresses of one index, by domain. */
export function listAddresses({ address: { local, domain }, rowCount }: FilterContext): AddressList {
  return {
    rowLimit: rowCount,
    stableRows: rowCount,
    domains() {
      const domains: string[] = [];
      for (let group = 0; group < domain.groupCount; group++) {
        if (group === domain.blankGroup) continue;
        domains.push(Buffer.from(domain.scratch.subarray(0, domain.loadFolded(group))).toString());
      }
      return domains;
    },
    rowsOf(name) {
      const [first, end] = groupsEqualTo(domain, Buffer.from(name));
      if (end <= first || first === domain.blankGroup) return new Uint32Array(0);
      const [from, to] = [domain.starts.at(first), domain.starts.at(end)];
      return domain.postings === undefined
        ? Uint32Array.from({ length: to - from }, (_, index) => from + index)
        : domain.postings.slice(from, to);
    },
    addressOf: (row) => foldedText(local, row) + foldedText(domain, row),
    putHashes(from, seed, hashes) {
      const whole: MutableHash = { low: 0, high: 0 };
      for (let at = 0; at < hashes.length; at += 2) {
        const row = from + at / 2;
        whole.low = seed.low;
        whole.high = seed.high;
        addHash(local, row, seed, whole);
        addHash(domain, row, seed, whole);
        hashes[at] = whole.low;
        hashes[at + 1] = whole.high;
      }
    },
  };
}

function foldedText(column: TextColumn, row: number): string {
  const group = groupOf(column, row);
  return Buffer.from(column.scratch.subarray(0, column.loadFolded(group))).toString();
}

const part: MutableHash = { low: 0, high: 0 };

function addHash(column: TextColumn, row: number, seed: EntitySeed, whole: MutableHash): void {
  hashBytes(column.scratch, column.loadFolded(groupOf(column, row)), seed, part);
  combine(part.low, part.high, whole);
}

const groupOf = ({ codes }: TextColumn, row: number): number => codes[row] as number;
