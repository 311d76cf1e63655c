import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../core/index.ts';
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
  /** The rows of an index by what is known of their addresses; undefined if no address was checked ever. */
  trustedRows(index: ProviderIndex): Promise<TrustedRows | undefined>;
}

/** Sets of rows in shared memory. */
export interface TrustedRows {
  readonly trusted: Uint32Array;
  /** Of these, rows to whose address a message of this service was processed within the last year. */
  readonly confirmed: Uint32Array;
}

/**
 * The slots of an index's rows are found once per index; states change beneath them. After changes only those
 * of the changed rows are found again. A search takes all rows of the query in their order and keeps those
 * with the wanted states.
 */
export function createVerifiedSearch(pool: SearchPool, states: AddressStates, clock: Clock): VerifiedSearch {
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

  // Of the last index; made again once states have changed.
  let known: (KnownRows & { readonly index: ProviderIndex; readonly version: number }) | undefined;
  let making: { readonly index: ProviderIndex; readonly rows: Promise<TrustedRows> } | undefined;

  async function makeRows(index: ProviderIndex): Promise<TrustedRows> {
    const { version } = states;
    const overlay = await overlayOf(index);
    const rows = await findTrusted(overlay, states, monthBefore(clock.now()));
    known = { index, version, madeAtMs: performance.now(), rows };
    return rows;
  }

  return {
    async trustedRows(index) {
      await states.refresh();
      if (states.isEmpty) return undefined;
      const isSame = known?.index === index;
      if (known !== undefined && isSame && known.version === states.version) return known.rows;
      const isOld = known === undefined || performance.now() - known.madeAtMs > trustedForMs;
      if (known !== undefined && isSame && !isOld) return known.rows;
      if (making?.index !== index) {
        const rows = makeRows(index);
        const own = { index, rows };
        making = own;
        const end = (): void => {
          if (making === own) making = undefined;
        };
        rows.then(end, end);
      }
      // While they are made again, those of before answer.
      return known !== undefined && isSame ? known.rows : making.rows;
    },
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

interface KnownRows {
  readonly rows: TrustedRows;
  readonly madeAtMs: number;
}

/** Changed states count in suggestions at the latest so long after. */
const trustedForMs = 5000;
/** Rows that are looked at in one turn of the event loop: some two milliseconds. */
const trustedPerTurn = 100_000;

async function findTrusted(
  { first, later }: Overlay,
  states: AddressStates,
  sinceMonth: number,
): Promise<TrustedRows> {
  const count = first.length + later.length;
  const createSet = (): Uint32Array => new Uint32Array(new SharedArrayBuffer(Math.ceil(count / 32) * 4));
  const [trusted, confirmed] = [createSet(), createSet()];
  const trustedRank = states.names.indexOf('trusted');
  for (let row = 0; row < count; row++) {
    if (row % trustedPerTurn === trustedPerTurn - 1) await nextTurn();
    const slot = (row < first.length ? first[row] : later[row - first.length]) as number;
    if (states.rankOf(slot) !== trustedRank) continue;
    const [word, bit] = [row >>> 5, 1 << (row & 31)];
    trusted[word] = (trusted[word] as number) | bit;
    if (states.monthOf(slot) >= sinceMonth) confirmed[word] = (confirmed[word] as number) | bit;
  }
  return { trusted, confirmed };
}

/** The month a year before, such as 202506. */
function monthBefore(now: Date): number {
  return (now.getUTCFullYear() - 1) * 100 + now.getUTCMonth() + 1;
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
