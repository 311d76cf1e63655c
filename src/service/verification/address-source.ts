import { LRUCache } from 'lru-cache';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sortInSlices } from '../../core/index.ts';
import type { ListedAddresses } from '../directory/index.ts';
import { findDirectAddress, isQualifiedDomain, type DirectAddress } from '../../lib/values/index.ts';

/** Addresses of some domains kept while these are worked on. */
const maxKept = 400_000;
const rowsPerTurn = 2000;

/** The addresses of the served directory, by domain. */
export interface AddressSource {
  /** Undefined before the directory is loaded. */
  readonly revision: number | undefined;
  domains(): Promise<ReadonlySet<string>>;
  /** The valid addresses of a domain in lower case, each once, in order. */
  addressesOf(domain: string): Promise<readonly DirectAddress[]>;
}

export function createAddressSource(find: () => ListedAddresses | undefined): AddressSource {
  const kept = new LRUCache<string, readonly DirectAddress[]>({
    maxSize: maxKept,
    sizeCalculation: (list) => list.length + 1,
  });
  return {
    get revision() {
      return find()?.revision;
    },
    async domains() {
      const domains = new Set<string>();
      for (const [at, domain] of (find()?.list.domains() ?? []).entries()) {
        if (at % rowsPerTurn === rowsPerTurn - 1) await nextTurn();
        if (isQualifiedDomain(domain)) domains.add(domain);
      }
      return domains;
    },
    async addressesOf(domain) {
      const current = find();
      if (current === undefined) return [];
      const key = `${current.revision} ${domain}`;
      const known = kept.get(key);
      if (known !== undefined) return known;
      const addresses = new Set<DirectAddress>();
      for (const [at, row] of current.list.rowsOf(domain).entries()) {
        if (at % rowsPerTurn === rowsPerTurn - 1) await nextTurn();
        const address = findDirectAddress(current.list.addressOf(row));
        if (address !== undefined) addresses.add(address);
      }
      const sorted = await sortInSlices(addresses);
      kept.set(key, sorted);
      return sorted;
    },
  };
}
