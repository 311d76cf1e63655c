import type { SMTPServerAddress, SMTPServerSession } from 'smtp-server';
import type { Budget, Reservation } from '../../core/index.ts';
import type { SmtpHandlers, SmtpOffer } from './handlers.ts';
import { readPath } from './address.ts';
import { unannouncedBytes } from './limits.ts';
import { networkOf } from './connection-table.ts';
import { contextOf, failedHere, noMemory } from './receive.ts';
import type { SmtpReply } from './reply.ts';

/** Messages that peers offer: refused before they are read, or provided with memory. */
export interface Offers {
  /** At MAIL FROM. Reserves nothing yet: a peer that never reaches DATA must not hold memory. */
  check(session: SMTPServerSession, mailFrom: SMTPServerAddress): SmtpReply | undefined;
  /** At DATA, before the 354. Reserves memory for the message, or returns the reply of its refusal. */
  open(session: SMTPServerSession): SmtpReply | undefined;
  /** The reservation of `open`; the owner releases it. */
  take(session: SMTPServerSession): Reservation;
  /** Releases reservations that were not used. */
  leave(session: SMTPServerSession): void;
}

export function createOffers(handlers: SmtpHandlers, budget: Budget): Offers {
  const reserved = new Map<string, Reservation>();

  function ask(offer: SmtpOffer): SmtpReply | undefined {
    try {
      return handlers.onOffer?.(offer);
    } catch (error) {
      handlers.onError?.(error);
      return failedHere;
    }
  }

  function reserve(session: SMTPServerSession, sizeBytes: number | undefined): Reservation | SmtpReply {
    const reservation = budget.reserve(networkOf(session.remoteAddress), sizeBytes ?? unannouncedBytes);
    return typeof reservation === 'string' ? noMemory : reservation;
  }

  return {
    check(session, mailFrom) {
      const sizeBytes = readSize(mailFrom);
      // The session learns its sender only when this has accepted it.
      const context = { ...contextOf(session), mailFrom: readPath(mailFrom.address) ?? '' };
      const refusal = ask({ ...context, sizeBytes });
      if (refusal !== undefined) return refusal;
      const trial = reserve(session, sizeBytes);
      if ('code' in trial) return trial;
      trial.release();
      return undefined;
    },
    open(session) {
      const { mailFrom } = session.envelope;
      const sizeBytes = mailFrom === false ? undefined : readSize(mailFrom);
      const refusal = ask({ ...contextOf(session), sizeBytes });
      if (refusal !== undefined) return refusal;
      const reservation = reserve(session, sizeBytes);
      if ('code' in reservation) return reservation;
      reserved.set(session.id, reservation);
      return undefined;
    },
    take(session) {
      const reservation = reserved.get(session.id);
      reserved.delete(session.id);
      if (reservation === undefined) throw new TypeError('DATA without an offer');
      return reservation;
    },
    leave(session) {
      reserved.get(session.id)?.release();
      reserved.delete(session.id);
    },
  };
}

/** RFC 1870 §4: decimal octets. Undefined if not announced; an announcement without a number is ignored. */
function readSize({ args }: SMTPServerAddress): number | undefined {
  const size = args === false ? undefined : Number((args as Readonly<Record<string, unknown>>)['SIZE']);
  return size !== undefined && Number.isSafeInteger(size) && size > 0 ? size : undefined;
}
