import type { FilterContext } from './filter-context.ts';
import { groupsEqualTo } from './find-groups.ts';
import type { TextColumn } from './text-column.ts';
import type { AddressList } from './types.ts';

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
      const [from, to] = [domain.starts[first] as number, domain.starts[end] as number];
      return domain.postings === undefined
        ? Uint32Array.from({ length: to - from }, (_, index) => from + index)
        : domain.postings.slice(from, to);
    },
    addressOf: (row) => foldedText(local, row) + foldedText(domain, row),
  };
}

function foldedText(column: TextColumn, row: number): string {
  const group = groupOf(column, row);
  return Buffer.from(column.scratch.subarray(0, column.loadFolded(group))).toString();
}

const groupOf = ({ codes }: TextColumn, row: number): number => codes[row] as number;
