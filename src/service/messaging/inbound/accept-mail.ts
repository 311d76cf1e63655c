/**
 * Mail of other HISPs: accepted, spooled, judged, stored or answered.
 * Used by `service/messaging`.
 * Begin with this file, where the mail comes from the SMTP edge; `judge-mail.ts` decides about it.
 */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { errorCode } from '../../../core/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';
import { judgeMail, type Verdict } from './judge-mail.ts';
import { partyOf, senderDomainOf, type IncomingMail, type MailEnvelope } from './mail.ts';
import type { MailWorkers } from './mail-workers.ts';
import { spoolMail, type SpoolFacts } from './spool-mail.ts';
import type { SpoolPlace, SpoolRoom } from './spool-room.ts';

export interface IntakeOptions {
  readonly spool: SpoolRoom;
  readonly direct: DirectLimits;
  /** Undefined until the service is started: then all mail is spooled. */
  readonly workers: () => MailWorkers | undefined;
}

/** The processing before the SMTP edge answers. */
export interface DirectLimits {
  readonly maxBytes: number;
  /** Mails in progress at the same time. */
  readonly slots: number;
  /** The same of one peer. */
  readonly share: number;
  /** Time to judge one; mail that takes longer is spooled. */
  readonly budgetMs: number;
}

export const defaultDirectLimits: DirectLimits = {
  maxBytes: 256 * 1024,
  slots: 128,
  share: 64,
  budgetMs: 3_000,
};

/** After mail of a peer has exceeded the budget, its mail is not processed directly for this time. */
const noWaitMs = 60_000;
/** Parties remembered as slow. */
const maxSlow = 10_000;

/** The data of mail that goes to the spool; undefined if it was processed. */
type Trial = Omit<SpoolFacts, 'network' | 'id'> | undefined;

export interface Intake {
  /**
   * Accepts mail: durable when fulfilled, so that the SMTP edge may say 250. Small mail that needs no network
   * to be judged is processed at once, with one transaction; the rest is spooled. Returns the id of the mail
   * that waits in the spool, if it does. Throws MESSAGING_SPOOL_FULL. The memory of a large message is given
   * away.
   */
  accept(mail: IncomingMail, network: string): Promise<string | undefined>;
}

export function createIntake(deps: MessagingDependencies, { spool, direct, workers }: IntakeOptions): Intake {
  const inProgress = new Map<string, number>();
  const slowUntil = new Map<string, number>();
  let total = 0;

  function isDirect(party: string, mail: IncomingMail): boolean {
    if (workers() === undefined || mail.message.length > direct.maxBytes) return false;
    if (total >= direct.slots || (inProgress.get(party) ?? 0) >= direct.share) return false;
    const until = slowUntil.get(party);
    if (until === undefined) return true;
    if (until > performance.now()) return false;
    slowUntil.delete(party);
    return true;
  }

  function noteSlow(party: string): void {
    if (slowUntil.size >= maxSlow) slowUntil.clear();
    slowUntil.set(party, performance.now() + noWaitMs);
  }

  async function tryDirect(party: string, mail: IncomingMail, envelope: MailEnvelope): Promise<Trial> {
    inProgress.set(party, (inProgress.get(party) ?? 0) + 1);
    total++;
    try {
      // The spool may need the message afterwards.
      const options = { allowFetch: false, keepsMessage: true };
      const judging = judgeMail(deps, envelope, async () => mail.message, options);
      const verdict = await within(direct.budgetMs, judging);
      if (verdict === undefined) {
        noteSlow(party);
        return { needsFetch: false };
      }
      return await conclude(verdict, envelope.id);
    } finally {
      total--;
      const left = (inProgress.get(party) ?? 1) - 1;
      if (left === 0) inProgress.delete(party);
      else inProgress.set(party, left);
    }
  }

  async function conclude(verdict: Verdict, id: string): Promise<Trial> {
    if (verdict.kind === 'undecided') return { needsFetch: true };
    if (verdict.kind === 'failed') return failed(verdict.error, id);
    const { storeIn, shareBy } = verdict;
    try {
      await deps.storage.transaction((tx: Kysely<MessagingTables>) => storeIn(tx), { shareBy });
      return undefined;
    } catch (error) {
      return failed(error, id);
    }
  }

  function failed(error: unknown, id: string): Trial {
    const code = errorCode(error);
    deps.emit('postponed', { code }, { mailId: id, attempts: 1 });
    return { needsFetch: false, lastError: code };
  }

  async function process(
    mail: IncomingMail,
    network: string,
    place: SpoolPlace,
  ): Promise<string | undefined> {
    const senderDomain = senderDomainOf(mail.mailFrom);
    const party = partyOf(network, senderDomain);
    const id = randomUUID();
    const { message: _message, ...rest } = mail;
    const envelope: MailEnvelope = { id, ...rest, receivedAt: deps.clock.now() };
    const facts = isDirect(party, mail) ? await tryDirect(party, mail, envelope) : { needsFetch: false };
    if (facts === undefined) return undefined;
    place.wait(senderDomain, facts.needsFetch);
    return spoolMail(deps, mail, { ...facts, id, network }, workers()?.lane(facts.needsFetch));
  }

  return {
    async accept(mail, network) {
      const place = spool.enter({ network, sizeBytes: mail.message.length });
      try {
        const mailId = await process(mail, network, place);
        if (mailId === undefined) place.release();
        else place.keep(mailId);
        return mailId;
      } catch (error) {
        place.release();
        throw error;
      }
    },
  };
}

/** Undefined if it takes longer; the result is then dropped. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
