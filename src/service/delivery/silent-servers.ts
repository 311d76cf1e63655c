import { createGrowingCache } from '../../core/index.ts';
import { SmtpError, type MailHost } from '../../lib/smtp/index.ts';

/**
 * Mail servers that neither open a session nor refuse it. One that has opened none for a while is waited for by one attempt at a time; any
 * other attempt fails, as unreachable. A server may serve thousands of domains, which would each hold a slot to find that out.
 */
export interface SilentServers {
  /** Runs `work`, which says when it waits for a session and when there is one, and ends when it is told to. */
  open<T>(host: Pick<MailHost, 'name' | 'address'>, work: (opening: Opening) => Promise<T>): Promise<T>;
  /** A probe has opened a session. */
  noteSession(address: string): void;
  /** Ends attempts that wait for servers which have become silent, but for the oldest of each. Call it every `checkEveryMs`. */
  check(): void;
  readonly checkEveryMs: number;
}

export interface Opening {
  /**
   * The attempt needs a new session; one that uses a kept one says nothing, for it proves nothing. Throws SMTP_UNREACHABLE if the server is
   * silent, and another attempt waits for it.
   */
  readonly onOpening: () => void;
  /** The server has opened the session. */
  readonly onOpen: () => void;
  /** The server is silent. Once there is a session, this means nothing. */
  readonly signal: AbortSignal;
}

interface Server {
  /** Attempts that wait for a session, the oldest first. */
  readonly waiting: Set<AbortController>;
  /** Since when it has opened none of those that are waited for, or were waited for last; undefined if it is not silent. */
  silentSince: number | undefined;
  /** When the last wait for a session ended. */
  endedAt: number;
  /**
   * Time that it took to open the last session: some servers let clients wait for their greeting, 5 or 6 s by usual settings. Until one was
   * opened it is `silentAfterMs`.
   */
  openMs: number;
}

const maxServers = 1_000;
/** A server that was silent longer ago is asked anew by all: meanwhile another node may have reached it. */
const silenceCountsMs = 60_000;

export function createSilentServers(
  silentAfterMs: number,
  monotonicMs: () => number = () => performance.now(),
): SilentServers {
  const servers = createGrowingCache<Server>(maxServers);
  const waitedFor = new Set<Server>();
  // One that takes longer and longer is about to be silent.
  const maxOpenMs = 2 * silentAfterMs;
  const checkEveryMs = Math.max(20, silentAfterMs / 4);
  let checkedAt = monotonicMs();

  function get(address: string): Server {
    const known = servers.get(address);
    if (known !== undefined) return known;
    const server: Server = { waiting: new Set(), silentSince: undefined, endedAt: 0, openMs: silentAfterMs };
    servers.set(address, server);
    return server;
  }

  function noteSession(server: Server): void {
    server.silentSince = server.waiting.size > 0 ? monotonicMs() : undefined;
  }

  const silentMs = ({ silentSince }: Server): number =>
    silentSince === undefined ? 0 : monotonicMs() - silentSince;
  const isSilent = (server: Server): boolean =>
    silentMs(server) > silentAfterMs + Math.min(server.openMs, maxOpenMs);

  function silence(name: string, server: Server): SmtpError {
    const seconds = Math.round(silentMs(server) / 1000);
    return new SmtpError('SMTP_UNREACHABLE', `${name} has opened no session for ${seconds} s`);
  }

  return {
    async open({ name, address }, work) {
      const server = get(address);
      const attempt = new AbortController();
      let startedAt = 0;
      let isOpen = false;
      const end = (isAnswer: boolean): void => {
        if (!server.waiting.delete(attempt)) return;
        server.endedAt = monotonicMs();
        if (server.waiting.size === 0) waitedFor.delete(server);
        if (isAnswer) noteSession(server);
      };
      try {
        return await work({
          signal: attempt.signal,
          onOpening() {
            startedAt = monotonicMs();
            if (server.waiting.size > 0 && isSilent(server)) throw silence(name, server);
            const isKnown = server.waiting.size > 0 || startedAt - server.endedAt <= silenceCountsMs;
            if (!isKnown || server.silentSince === undefined) server.silentSince = startedAt;
            server.waiting.add(attempt);
            waitedFor.add(server);
          },
          onOpen() {
            isOpen = true;
            if (server.waiting.has(attempt)) server.openMs = monotonicMs() - startedAt;
            end(true);
          },
        });
      } catch (error) {
        throw attempt.signal.aborted && !isOpen ? silence(name, server) : error;
      } finally {
        // A refusal that comes soon holds up nobody.
        end(!attempt.signal.aborted && monotonicMs() - startedAt <= silentAfterMs);
      }
    },
    noteSession: (address) => noteSession(get(address)),
    checkEveryMs,
    check() {
      // While this process stood still, it could not read what servers said.
      const stoodStillMs = Math.max(0, monotonicMs() - checkedAt - 2 * checkEveryMs);
      checkedAt = monotonicMs();
      for (const server of waitedFor) {
        if (server.silentSince !== undefined) server.silentSince += stoodStillMs;
        if (!isSilent(server)) continue;
        const [, ...others] = server.waiting;
        for (const attempt of others) attempt.abort();
      }
    },
  };
}
