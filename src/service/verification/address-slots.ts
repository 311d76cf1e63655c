import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { createAddressSlots } from '../../lib/provider-index/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { AddressState, AddressStates } from '../directory/index.ts';
import { verifiedStates, type VerificationTables } from './tables.ts';

/** Changes are read again this long after, because a transaction may commit later than its time says. */
const overlapMs = 30_000;
/** Looks at the table are at least this far apart. */
const freshForMs = 1000;
/** Rows of one statement: some milliseconds of the event loop. */
const rowsAtOnce = 1000;
const firstSlots = 1024;
const unverified = verifiedStates.length;

/**
 * Verification states of all addresses, in memory: about 30 bytes per address, loaded by the first call of
 * `refresh` and updated with the rows that changed since the last one.
 */
export function createAddressStates(storage: Storage): AddressStates {
  const seed = randomBytes(8);
  const slots = createAddressSlots({ low: seed.readUInt32LE(), high: seed.readUInt32LE(4) });
  const columns = createColumns();
  const reasons = new Map<string, number>([['', 0]]);
  let running: Promise<void> | undefined;
  let readAt = -Infinity;
  let seen = -1;
  let isAnyChecked = false;
  let version = 0;

  function set(key: string, change: { state: string; reason: string; checkedAt: number }): void {
    const slot = slots.slotOf(key);
    const reason = reasons.get(change.reason) ?? reasons.size;
    reasons.set(change.reason, reason);
    columns.holdSlot(slot);
    const rank = verifiedStates.findIndex((name) => name === change.state);
    // Rows of the last seconds are read again and again.
    if (columns.ranks[slot] !== rank) version++;
    columns.ranks[slot] = rank;
    columns.reasons[slot] = reason;
    columns.minutes[slot] = Math.floor(change.checkedAt / 60_000);
    isAnyChecked = true;
  }

  async function read(): Promise<void> {
    const db = storage.tables<VerificationTables>();
    const now = storage.clock.now().getTime();
    await forEachPage(seen, async (after) => {
      const rows = await db
        .selectFrom('verification_address')
        .select(['address_key', 'state', 'reason', 'checked_at', 'changed_at'])
        .where(isAfter(after))
        .orderBy('changed_at')
        .orderBy('address_key')
        .limit(rowsAtOnce)
        .execute();
      for (const { address_key: key, state, reason, checked_at: at } of rows)
        set(key, { state, reason, checkedAt: Number(at) });
      return rows;
    });
    await forEachPage(seen, async (after) => {
      const rows = await db
        .selectFrom('verification_processed')
        .select(['address_key', 'month', 'changed_at'])
        .where(isAfter(after))
        .orderBy('changed_at')
        .orderBy('address_key')
        .limit(rowsAtOnce)
        .execute();
      for (const { address_key: key, month } of rows) {
        const slot = slots.slotOf(key);
        columns.holdSlot(slot);
        if (columns.months[slot] !== month - firstMonth) version++;
        columns.months[slot] = month - firstMonth;
      }
      return rows;
    });
    seen = now - overlapMs;
    readAt = performance.now();
  }

  return {
    names: [...verifiedStates, 'unverified'],
    async refresh() {
      if (performance.now() - readAt < freshForMs) return;
      running ??= read().finally(() => {
        running = undefined;
      });
      await running;
    },
    get isEmpty() {
      return !isAnyChecked;
    },
    slotOf: slots.slotOf,
    putSlots: slots.putSlots,
    reserve: slots.reserve,
    get version() {
      return version;
    },
    monthOf(slot) {
      const month = columns.months[slot] ?? 0;
      return month === 0 ? 0 : month + firstMonth;
    },
    rankOf: (slot) => columns.ranks[slot] ?? unverified,
    read(slot) {
      const rank = columns.ranks[slot] ?? unverified;
      const month = columns.months[slot] ?? 0;
      return {
        state: verifiedStates[rank] ?? 'unverified',
        reason: [...reasons.keys()][columns.reasons[slot] ?? 0] ?? '',
        checkedAt: rank === unverified ? undefined : new Date((columns.minutes[slot] ?? 0) * 60_000),
        processedMonth: month === 0 ? undefined : formatMonth(month + firstMonth),
      };
    },
  };
}

/** Where a page of changes ends. */
interface Position {
  readonly changed_at: number;
  readonly address_key: string;
}

/**
 * In the order of changes, which an index gives: in the order of keys, SQLite would read the whole table for
 * a single change.
 */
const isAfter = ({ changed_at, address_key }: Position) =>
  sql<boolean>`(changed_at, address_key) > (${changed_at}, ${address_key})`;

/**
 * Reads the changes since a time page by page, and hands the event loop back between them: SQLite answers in
 * the same turn.
 */
async function forEachPage(
  since: number,
  readPage: (after: Position) => Promise<readonly Position[]>,
): Promise<void> {
  let after: Position = { changed_at: since, address_key: '' };
  for (;;) {
    const rows = await readPage(after);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    after = last;
    await nextTurn();
  }
}

/** Months are kept as a small number. */
const firstMonth = 200_000;

function formatMonth(month: number): string {
  return `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`;
}

/** State and times by slot, of all slots up to the highest one that is held. */
function createColumns() {
  const columns = {
    ranks: new Uint8Array(),
    reasons: new Uint8Array(),
    minutes: new Uint32Array(),
    months: new Uint16Array(),
    holdSlot(slot: number): void {
      const { ranks, reasons, minutes, months } = columns;
      if (slot < ranks.length) return;
      const size = Math.max(firstSlots, 2 ** Math.ceil(Math.log2(slot + 1)));
      columns.ranks = new Uint8Array(size).fill(unverified);
      columns.ranks.set(ranks);
      columns.reasons = new Uint8Array(size);
      columns.reasons.set(reasons);
      columns.minutes = new Uint32Array(size);
      columns.minutes.set(minutes);
      columns.months = new Uint16Array(size);
      columns.months.set(months);
    },
  };
  return columns;
}

/** Verification state of one address, from the tables. */
export async function readAddressState(storage: Storage, addressKey: string): Promise<AddressState> {
  const db = storage.tables<VerificationTables>();
  const [row, processed] = await Promise.all([
    db
      .selectFrom('verification_address')
      .select(['state', 'reason', 'checked_at'])
      .where('address_key', '=', addressKey)
      .executeTakeFirst(),
    db
      .selectFrom('verification_processed')
      .select('month')
      .where('address_key', '=', addressKey)
      .executeTakeFirst(),
  ]);
  return {
    state: row?.state ?? 'unverified',
    reason: row?.reason ?? '',
    checkedAt: row === undefined ? undefined : new Date(Number(row.checked_at)),
    processedMonth: processed === undefined ? undefined : formatMonth(processed.month),
  };
}
