import { sql, type Kysely } from 'kysely';
import { createBudget, type Budget, type Reservation } from '../../../core/index.ts';
import { referenceBytes, storedSize, type Config } from '../../../platform/index.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingTables } from '../tables.ts';

/** Origin and size of a mail. */
export interface MailOrigin {
  /** The peer's network; mail without one counts only toward the total. */
  readonly network: string;
  readonly sizeBytes: number;
}

/** The room that one mail takes. */
export interface SpoolPlace {
  /** Reserves the additional room of mail that was not processed directly. Throws MESSAGING_SPOOL_FULL. */
  wait(senderDomain: string, needsFetch: boolean): void;
  /** The mail is stored and waits. */
  keep(mailId: string): void;
  release(): void;
}

export interface SpoolRoom {
  /** Throws MESSAGING_SPOOL_FULL unless such mail can be accepted now. Reserves nothing. */
  check(origin: MailOrigin): void;
  /** Takes room for mail in progress. Throws MESSAGING_SPOOL_FULL. */
  enter(origin: MailOrigin): SpoolPlace;
  /** Counts mail that was waiting before this process started. */
  restore(): Promise<void>;
  /** Gives back the room of mail that waits no longer. */
  refresh(): Promise<void>;
  readonly mails: number;
  readonly bytes: number;
}

/** Ids asked for in one statement. */
const maxIds = 500;

interface Waiting {
  readonly network: string;
  readonly reservations: Reservation[];
  isUndecided: boolean;
}

/**
 * Counts the waiting mail that this process has accepted; more is deferred at SMTP (Decision 0020). Processed
 * mail is found by reading the waiting rows again, so that the processing of mail, here or on another node,
 * need not report anything.
 */
export function createSpoolRoom(
  db: Kysely<MessagingTables>,
  { admission, messaging }: Pick<Config, 'admission' | 'messaging'>,
): SpoolRoom {
  const mails = createBudget({
    total: admission.maxWaitingMails,
    perCaller: admission.maxWaitingMailsPerNetwork,
  });
  const bytes = createBudget({
    total: admission.maxWaitingMailBytes,
    perCaller: admission.maxWaitingMailBytesPerNetwork,
  });
  // The domain is the one that the envelope claims.
  const ofDomains = createBudget({ total: Infinity, perCaller: messaging.maxWaitingPerSenderDomain });
  // Mail of senders that only fetches from the network can judge.
  const undecided = createBudget({ total: Infinity, perCaller: messaging.maxUndecidedPerNetwork });
  const waiting = new Map<string, Waiting>();

  function take({ network, sizeBytes }: MailOrigin): Reservation[] {
    const slot = mails.reserve(network, 1);
    if (typeof slot === 'string') throw full(slot);
    const room = bytes.reserve(network, sizeBytes);
    if (typeof room !== 'string') return [slot, room];
    slot.release();
    throw full(room);
  }

  function takeMore(reserved: Reservation[], budget: Budget, whose: string, what: string): void {
    const more = budget.reserve(whose, 1);
    if (typeof more === 'string') throw full(`${what} ${whose}`);
    reserved.push(more);
  }

  /** Mail over the limit is not counted here: mail that is already spooled is not refused. */
  function addIfRoom(reserved: Reservation[], budget: Budget, whose: string, amount = 1): void {
    const more = budget.reserve(whose, amount);
    if (typeof more !== 'string') reserved.push(more);
  }

  async function refresh(ids: readonly string[]): Promise<void> {
    const rows = await db
      .selectFrom('inbound_mail')
      .select(['id', 'needs_fetch'])
      .where('id', 'in', ids)
      .where('state', '=', 'waiting')
      .execute();
    const stillWaiting = new Map(rows.map((row) => [row.id, row.needs_fetch === 1]));
    for (const id of ids) {
      const mail = waiting.get(id);
      const isUndecided = stillWaiting.get(id);
      if (mail === undefined) continue;
      if (isUndecided === undefined) {
        release(mail.reservations);
        waiting.delete(id);
      } else if (isUndecided && !mail.isUndecided) {
        // A worker has moved it to the lane of unknown senders.
        mail.isUndecided = true;
        addIfRoom(mail.reservations, undecided, mail.network);
      }
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
      const { network } = origin;
      const reservations = take(origin);
      let isUndecided = false;
      return {
        wait(senderDomain, needsFetch) {
          takeMore(reservations, ofDomains, senderDomain, 'of the sender domain');
          if (!needsFetch) return;
          isUndecided = true;
          takeMore(reservations, undecided, network, 'of unknown senders from the network');
        },
        keep: (mailId) => {
          // A repetition of mail that waits already takes no separate room.
          if (waiting.has(mailId)) release(reservations);
          else waiting.set(mailId, { network, reservations, isUndecided });
        },
        release: () => release(reservations),
      };
    },
    async restore() {
      const rows = await db
        .selectFrom('inbound_mail')
        .select(['id', 'network', 'sender_domain', 'needs_fetch'])
        .select([
          sql<Uint8Array>`substr(sealed_mail, 1, ${sql.lit(referenceBytes)})`.as('start'),
          sql<number>`length(sealed_mail)`.as('stored_bytes'),
        ])
        .where('state', '=', 'waiting')
        .execute();
      for (const row of rows) {
        const { id, network, sender_domain: senderDomain } = row;
        if (waiting.has(id)) continue;
        const isUndecided = row.needs_fetch === 1;
        const reservations: Reservation[] = [];
        addIfRoom(reservations, mails, network);
        addIfRoom(reservations, bytes, network, storedSize(row.start, Number(row.stored_bytes)));
        addIfRoom(reservations, ofDomains, senderDomain);
        if (isUndecided) addIfRoom(reservations, undecided, network);
        waiting.set(id, { network, reservations, isUndecided });
      }
    },
    async refresh() {
      const ids = [...waiting.keys()];
      for (let from = 0; from < ids.length; from += maxIds) await refresh(ids.slice(from, from + maxIds));
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
