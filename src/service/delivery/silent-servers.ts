import { createGrowingCache, errorCode, isNoSocketCode } from '../../core/index.ts';
import { SmtpError, type MailHost } from '../../lib/smtp/index.ts';

/**
 * Mail servers that neither take messages nor refuse them. One that has asked for no message in a new session for a while is waited for by
 * one attempt at a time, or by a few if it opens sessions: their recipients may be what takes it long. Any other attempt that needs a new
 * session fails, as unreachable. A server may serve thousands of domains, which would each hold a slot to find that out.
 */
export interface SilentServers {
  /** Runs `work`, which says how far the server has come, and ends when it is told to. */
  ask<T>(host: Pick<MailHost, 'name' | 'address'>, work: (stages: Stages) => Promise<T>): Promise<T>;
  /** A probe has opened a session. */
  noteSession(address: string): void;
  /**
   * Ends attempts that wait for a session of a server which has become silent, but for those that have waited longest; and of too many
   * silent servers also those, at the servers that have been asked longest. Call it every `checkEveryMs`.
   */
  check(): void;
  readonly checkEveryMs: number;
}

export interface Stages {
  /**
   * The attempt needs a new session; one that uses a kept one says nothing, for it proves nothing. Throws SMTP_UNREACHABLE if the server is
   * silent, and enough others wait for it.
   */
  readonly onOpening: () => void;
  /** The server has opened the session. */
  readonly onOpen: () => void;
  /** A kept session became free before. */
  readonly onKept: () => void;
  /** The server asks for the message. */
  readonly onReady: () => void;
  /** The server is silent. Once there is a session, this means nothing. */
  readonly signal: AbortSignal;
}

interface Server {
  /** Attempts in new sessions that the server has not asked for their message, and since when; the oldest first. */
  readonly waiting: Map<AbortController, number>;
  /** Since when it has asked none of those that wait, or waited last; undefined if it is not silent. */
  silentSince: number | undefined;
  /** It has opened sessions since then, and answered nothing in them. */
  opensSessions: boolean;
  /** When the last wait ended. */
  endedAt: number;
  /** When it last asked for a message in any session, a kept one included. */
  askedAt: number;
  /**
   * Time that it took until it asked for the last message: some servers let clients wait for their greeting, 5 or 6 s by usual settings.
   * Until it has asked for one it is `silentAfterMs`.
   */
  readyMs: number;
}

const maxServers = 1_000;
/** Attempts that wait for a silent server which opens sessions. */
const mostWithSessions = 8;
/** A server that was silent longer ago is asked anew by all: meanwhile another node may have reached it. */
const silenceCountsMs = 60_000;

/** Servers are silent after `silentAfterMs`, more for slow ones. Up to `mostSilent` silent ones are waited for until an attempt's time is over. */
export function createSilentServers(
  silentAfterMs: number,
  mostSilent: number,
  monotonicMs: () => number = () => performance.now(),
): SilentServers {
  const servers = createGrowingCache<Server>(maxServers);
  const waitedFor = new Set<Server>();
  // One that takes longer and longer is about to be silent.
  const maxReadyMs = 2 * silentAfterMs;
  const checkEveryMs = Math.max(20, silentAfterMs / 4);
  let checkedAt = monotonicMs();

  function get(address: string): Server {
    const known = servers.get(address);
    if (known !== undefined) return known;
    const server: Server = {
      waiting: new Map(),
      silentSince: undefined,
      opensSessions: false,
      endedAt: 0,
      askedAt: -Infinity,
      readyMs: silentAfterMs,
    };
    servers.set(address, server);
    return server;
  }

  function noteAnswer(server: Server): void {
    server.silentSince = server.waiting.size > 0 ? monotonicMs() : undefined;
    server.opensSessions = false;
  }

  /** The attempt waits no longer, and proves nothing: the next one has waited only since it began. */
  function noteKept(server: Server): void {
    const [since] = server.waiting.values();
    if (since === undefined) server.silentSince = undefined;
    else server.silentSince = Math.max(since, server.silentSince ?? since);
  }

  const silentMs = ({ silentSince }: Server): number =>
    silentSince === undefined ? 0 : monotonicMs() - silentSince;
  const isSilent = (server: Server): boolean =>
    silentMs(server) > silentAfterMs + Math.min(server.readyMs, maxReadyMs);
  const mostWaiting = ({ opensSessions }: Server): number => (opensSessions ? mostWithSessions : 1);

  function silence(name: string, server: Server): SmtpError {
    const forTime = `for ${Math.round(silentMs(server) / 1000)} s`;
    const isBusy = server.askedAt > (server.silentSince ?? Infinity);
    // It may serve few at a time: whoever reads this should not look for an outage.
    if (isBusy && !server.opensSessions)
      return new SmtpError(
        'SMTP_UNREACHABLE',
        `${name} takes messages in the sessions that are open, and has opened no other ${forTime}`,
      );
    const what = server.opensSessions ? 'asked for no message' : 'opened no session';
    return new SmtpError('SMTP_UNREACHABLE', `${name} has ${what} ${forTime}`);
  }

  return {
    async ask({ name, address }, work) {
      const server = get(address);
      const attempt = new AbortController();
      let startedAt = 0;
      let hasSession = false;
      const end = (): boolean => {
        if (!server.waiting.delete(attempt)) return false;
        server.endedAt = monotonicMs();
        if (server.waiting.size === 0) waitedFor.delete(server);
        return true;
      };
      const endAnswered = (): boolean => {
        const hasWaited = end();
        if (hasWaited) noteAnswer(server);
        return hasWaited;
      };
      try {
        const result = await work({
          signal: attempt.signal,
          onOpening() {
            startedAt = monotonicMs();
            hasSession = false;
            if (server.waiting.size >= mostWaiting(server) && isSilent(server)) throw silence(name, server);
            const isKnown = server.waiting.size > 0 || startedAt - server.endedAt <= silenceCountsMs;
            if (!isKnown || server.silentSince === undefined) {
              server.silentSince = startedAt;
              server.opensSessions = false;
            }
            server.waiting.set(attempt, startedAt);
            waitedFor.add(server);
          },
          onOpen() {
            hasSession = true;
            server.opensSessions = true;
          },
          onKept() {
            hasSession = true;
            if (end()) noteKept(server);
          },
          onReady() {
            server.askedAt = monotonicMs();
            if (endAnswered()) server.readyMs = monotonicMs() - startedAt;
          },
        });
        // It has refused the sender or all recipients.
        endAnswered();
        return result;
      } catch (error) {
        const isAborted = attempt.signal.aborted && !hasSession;
        const isOwnFault = isNoSocketCode(errorCode(error));
        // A refusal that comes soon holds up nobody.
        if (!isAborted && !isOwnFault && monotonicMs() - startedAt <= silentAfterMs) endAnswered();
        else end();
        throw isAborted ? silence(name, server) : error;
      }
    },
    noteSession(address) {
      const server = get(address);
      if (!server.opensSessions) noteAnswer(server);
    },
    checkEveryMs,
    check() {
      // While this process stood still, it could not read what servers said.
      const stoodStillMs = Math.max(0, monotonicMs() - checkedAt - 2 * checkEveryMs);
      checkedAt = monotonicMs();
      const silent: Server[] = [];
      for (const server of waitedFor) {
        if (server.silentSince !== undefined) server.silentSince += stoodStillMs;
        if (!isSilent(server)) continue;
        for (const attempt of [...server.waiting.keys()].slice(mostWaiting(server))) attempt.abort();
        // Attempts that have a session would not end.
        if (!server.opensSessions) silent.push(server);
      }
      for (const { waiting } of silent.slice(0, Math.max(0, silent.length - mostSilent)))
        for (const attempt of waiting.keys()) attempt.abort();
    },
  };
}
