import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  openIndex,
  type FoundPage,
  type ProviderIndex,
  type ProviderQuery,
  type SearchPool,
  type SharedIndexBytes,
} from '../../../lib/provider-index/index.ts';
import type { AddressStates } from './address-states.ts';
import type { VerificationQuery } from './parameter.ts';

/** Rows whose slots are found in one turn of the event loop: two or three milliseconds. */
const rowsPerTurn = 4096;
/** More than any directory has. */
const allRows = 0xffff_ffff;

/** Searches by the verification state of addresses. */
export interface VerifiedSearch {
  search(query: ProviderQuery, asked: VerificationQuery): Promise<FoundPage>;
  /**
   * Finds what searches of an index will need, if an address has been checked ever; else the first search
   * that needs it does.
   */
  prepare(bytes: SharedIndexBytes): Promise<void>;
}

/**
 * The slots of an index's rows are found once per index; states change beneath them. After changes only those
 * of the changed rows are found again. A search takes all rows of the query in their order and keeps those
 * with the wanted states.
 */
export function createVerifiedSearch(pool: SearchPool, states: AddressStates): VerifiedSearch {
  const stable = new WeakMap<SharedIndexBytes, Promise<Uint32Array>>();
  const changed = new WeakMap<ProviderIndex, Promise<Uint32Array>>();

  function stableSlotsOf(index: ProviderIndex): Promise<Uint32Array> {
    const rows = { from: 0, to: index.addresses.stableRows };
    return getOrFind(stable, index.bytes, () => findSlots(index, rows, states));
  }

  async function overlayOf(index: ProviderIndex): Promise<Overlay> {
    const { rowLimit, stableRows } = index.addresses;
    const [first, later] = await Promise.all([
      stableSlotsOf(index),
      getOrFind(changed, index, () => findSlots(index, { from: stableRows, to: rowLimit }, states)),
    ]);
    return { first, later };
  }

  return {
    async prepare(bytes) {
      if (stable.has(bytes)) return;
      await states.refresh();
      if (!states.isEmpty) await stableSlotsOf(openIndex(bytes));
    },
    async search(query, asked) {
      await states.refresh();
      if (asked.states === undefined && asked.sort === undefined) return pool.search(query);
      const all = await pool.search({ ...query, offset: 0, limit: allRows });
      const places = await choose(all, await overlayOf(all.index), states, asked);
      const page = places.subarray(
        Math.min(query.offset, places.length),
        Math.min(query.offset + query.limit, places.length),
      );
      const { distances } = all;
      return {
        index: all.index,
        totalCount: places.length,
        rows: Uint32Array.from(page, (place) => all.rows[place] as number),
        ...(distances && { distances: Float64Array.from(page, (place) => distances[place] as number) }),
      };
    },
  };
}

/**
 * The slots of an index's rows: of those that all indexes of the same bytes have, then of those that only it
 * has.
 */
interface Overlay {
  readonly first: Uint32Array;
  readonly later: Uint32Array;
}

function getOrFind<Key extends object>(
  known: WeakMap<Key, Promise<Uint32Array>>,
  key: Key,
  find: () => Promise<Uint32Array>,
): Promise<Uint32Array> {
  let slots = known.get(key);
  if (slots === undefined) {
    slots = find();
    known.set(key, slots);
  }
  return slots;
}

async function findSlots(
  { addresses }: ProviderIndex,
  { from, to }: { readonly from: number; readonly to: number },
  states: AddressStates,
): Promise<Uint32Array> {
  const slots = new Uint32Array(to - from);
  states.reserve(to);
  for (let at = 0; at < slots.length; at += rowsPerTurn) {
    states.putSlots(addresses, from + at, slots.subarray(at, at + rowsPerTurn));
    await nextTurn();
  }
  return slots;
}

/**
 * Places in `found.rows`, in order: counted by state, then put where they belong, so that ties keep their
 * order.
 */
async function choose(
  found: FoundPage,
  { first, later }: Overlay,
  states: AddressStates,
  asked: VerificationQuery,
): Promise<Uint32Array> {
  const isWanted = states.names.map((name) => asked.states?.has(name) ?? true);
  const ranks = new Uint8Array(found.rows.length);
  const counts = states.names.map(() => 0);
  for (let place = 0; place < ranks.length; place++) {
    if (place % 100_000 === 99_999) await nextTurn();
    const row = found.rows[place] as number;
    const rank = states.rankOf((row < first.length ? first[row] : later[row - first.length]) as number);
    ranks[place] = rank;
    if (isWanted[rank] === true) counts[rank] = (counts[rank] ?? 0) + 1;
  }
  const total = counts.reduce((sum, count) => sum + count, 0);
  const chosen = new Uint32Array(total);
  const order = counts.map((_, rank) => (asked.sort === 'descending' ? counts.length - 1 - rank : rank));
  const nextOf = new Uint32Array(counts.length);
  if (asked.sort !== undefined) {
    let next = 0;
    for (const rank of order) {
      nextOf[rank] = next;
      next += counts[rank] ?? 0;
    }
  }
  let end = 0;
  for (let place = 0; place < ranks.length; place++) {
    const rank = ranks[place] as number;
    if (isWanted[rank] !== true) continue;
    const at = asked.sort === undefined ? end++ : (nextOf[rank] as number);
    nextOf[rank] = at + 1;
    chosen[at] = place;
  }
  return chosen;
}
