import type { Kysely } from 'kysely';
import { createBudget, type Reservation } from '../../../core/index.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingTables } from '../tables.ts';

/** How much inbound mail may wait to be processed: all of it, and that of one peer's network (Decision 0020). */
export interface SpoolLimits {
  readonly mails: number;
  readonly mailsPerNetwork: number;
  readonly bytes: number;
  readonly bytesPerNetwork: number;
}

export const defaultSpoolLimits: SpoolLimits = {
  mails: 10_000,
  mailsPerNetwork: 2_500,
  bytes: 4_000_000_000,
  bytesPerNetwork: 1_000_000_000,
};

/** Where mail came from, and how large it is. */
export interface MailOrigin {
  /** The peer's network; mail without one counts for nobody in particular. */
  readonly network: string;
  readonly sizeBytes: number;
}

export interface SpoolRoom {
  /** Throws MESSAGING_SPOOL_FULL unless such mail may be taken now. Nothing is taken. */
  check(origin: MailOrigin): void;
  /** Takes room for mail that is about to be stored. Throws MESSAGING_SPOOL_FULL. */
  enter(origin: MailOrigin): { keep(mailId: string): void; release(): void };
  /** Counts mail that was waiting before this process started. */
  restore(): Promise<void>;
  /** Gives back the room of mail that waits no longer. */
  refresh(): Promise<void>;
  readonly mails: number;
  readonly bytes: number;
}

/** Ids asked for in one statement. */
const maxIds = 500;

/**
 * Counts the mail that this process has taken and that waits. What was processed is found by asking for the waiting ones again, so that
 * whoever processes mail, here or on another node, has nothing to report.
 */
export function createSpoolRoom(db: Kysely<MessagingTables>, limits: SpoolLimits): SpoolRoom {
  const mails = createBudget({ total: limits.mails, perCaller: limits.mailsPerNetwork });
  const bytes = createBudget({ total: limits.bytes, perCaller: limits.bytesPerNetwork });
  const waiting = new Map<string, readonly Reservation[]>();

  function take({ network, sizeBytes }: MailOrigin): readonly Reservation[] {
    const slot = mails.reserve(network, 1);
    if (typeof slot === 'string') throw full(slot);
    const room = bytes.reserve(network, sizeBytes);
    if (typeof room !== 'string') return [slot, room];
    slot.release();
    throw full(room);
  }

  async function removeProcessed(ids: readonly string[]): Promise<void> {
    const rows = await db
      .selectFrom('inbound_mail')
      .select('id')
      .where('id', 'in', ids)
      .where('state', '=', 'waiting')
      .execute();
    const stillWaiting = new Set(rows.map(({ id }) => id));
    for (const id of ids) {
      if (stillWaiting.has(id)) continue;
      release(waiting.get(id) ?? []);
      waiting.delete(id);
    }
  }

  return {
    get mails() {
      return mails.used;
    },
    get bytes() {
      return bytes.used;
    },
    check: (origin) => release(take(origin)),
    enter(origin) {
      const reservations = take(origin);
      return {
        keep: (mailId) => {
          // A repetition of mail that waits already takes no room of its own.
          if (waiting.has(mailId)) release(reservations);
          else waiting.set(mailId, reservations);
        },
        release: () => release(reservations),
      };
    },
    async restore() {
      const rows = await db
        .selectFrom('inbound_mail')
        .select(['id', 'network'])
        .where('state', '=', 'waiting')
        .execute();
      for (const { id, network } of rows) {
        const slot = waiting.has(id) ? 'total' : mails.reserve(network, 1);
        if (typeof slot !== 'string') waiting.set(id, [slot]);
      }
    },
    async refresh() {
      const ids = [...waiting.keys()];
      for (let from = 0; from < ids.length; from += maxIds)
        await removeProcessed(ids.slice(from, from + maxIds));
    },
  };
}

function release(reservations: readonly Reservation[]): void {
  for (const reservation of reservations) reservation.release();
}

function full(reason: string): MessagingError {
  return new MessagingError('MESSAGING_SPOOL_FULL', `too much mail is waiting: ${reason}`, {
    retryAfterSeconds: 60,
  });
}
