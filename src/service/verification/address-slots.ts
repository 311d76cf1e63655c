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
 * Verification states of all addresses, in memory: about 100 bytes per address, loaded by the first search that requests them. Updated
 * with the rows that changed since the last update.
 */
export function createAddressStates(storage: Storage): AddressStates {
  const slots = createSlots();
  const reasons = new Map<string, number>([['', 0]]);
  let running: Promise<void> | undefined;
  let readAt = -Infinity;
  const seen = { address: -1, processed: -1 };

  function set(key: string, change: { state: string; reason: string; checkedAt: number }): void {
    const slot = slots.find(key);
    const reason = reasons.get(change.reason) ?? reasons.size;
    reasons.set(change.reason, reason);
    slots.ranks[slot] = verifiedStates.findIndex((name) => name === change.state);
    slots.reasons[slot] = reason;
    slots.minutes[slot] = Math.floor(change.checkedAt / 60_000);
  }

  async function read(): Promise<void> {
    const db = storage.tables<VerificationTables>();
    const now = storage.clock.now().getTime();
    for (let after = ''; ;) {
      const rows = await db
        .selectFrom('verification_address')
        .select(['address_key', 'state', 'reason', 'checked_at'])
        .where('changed_at', '>', seen.address)
        .where('address_key', '>', after)
        .orderBy('address_key')
        .limit(rowsAtOnce)
        .execute();
      for (const { address_key: key, state, reason, checked_at: at } of rows)
        set(key, { state, reason, checkedAt: Number(at) });
      if (rows.length < rowsAtOnce) break;
      after = rows.at(-1)?.address_key ?? '';
    }
    const processed = await db
      .selectFrom('verification_processed')
      .select(['address_key', 'month'])
      .where('changed_at', '>', seen.processed)
      .execute();
    for (const { address_key: key, month } of processed) slots.months[slots.find(key)] = month - firstMonth;
    seen.address = seen.processed = now - overlapMs;
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
    slotOf: (address) => slots.find(address),
    rankOf: (slot) => slots.ranks[slot] ?? unverified,
    read(slot) {
      const rank = slots.ranks[slot] ?? unverified;
      const month = slots.months[slot] ?? 0;
      return {
        state: verifiedStates[rank] ?? 'unverified',
        reason: [...reasons.keys()][slots.reasons[slot] ?? 0] ?? '',
        checkedAt: rank === unverified ? undefined : new Date((slots.minutes[slot] ?? 0) * 60_000),
        processedMonth: month === 0 ? undefined : formatMonth(month + firstMonth),
      };
    },
  };
}

/** Months are kept as a small number. */
const firstMonth = 200_000;

function formatMonth(month: number): string {
  return `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`;
}

/** Numbers for texts, with the state and time stored under each number. */
function createSlots() {
  const numbers = new Map<string, number>();
  let size = firstSlots;
  const columns = {
    ranks: new Uint8Array(size).fill(unverified),
    reasons: new Uint8Array(size),
    minutes: new Uint32Array(size),
    months: new Uint16Array(size),
  };

  function grow(): void {
    size *= 2;
    const { ranks, reasons, minutes, months } = columns;
    columns.ranks = new Uint8Array(size).fill(unverified);
    columns.ranks.set(ranks);
    columns.reasons = new Uint8Array(size);
    columns.reasons.set(reasons);
    columns.minutes = new Uint32Array(size);
    columns.minutes.set(minutes);
    columns.months = new Uint16Array(size);
    columns.months.set(months);
  }

  return {
    find(text: string): number {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      const slot = numbers.size;
      if (slot >= size) grow();
      numbers.set(text, slot);
      return slot;
    },
    get ranks() {
      return columns.ranks;
    },
    get reasons() {
      return columns.reasons;
    },
    get minutes() {
      return columns.minutes;
    },
    get months() {
      return columns.months;
    },
  };
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
