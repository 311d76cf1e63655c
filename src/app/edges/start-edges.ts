import { createBudget, type Budget, type Closable, type Clock, type Log } from '../../core/index.ts';
import type { Config, DiskGuard, TlsFiles } from '../../platform/index.ts';
import type { Edges } from '../../service/edges/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';
import { createFactsCache, serveImap } from './imap/index.ts';
import { serveLine } from './line/index.ts';
import { startEdgeListener, type EdgeListenerOptions } from './listen.ts';
import { servePop3 } from './pop3/index.ts';
import { startSubmission } from './submission/index.ts';

export interface EdgesOptions extends EdgeBudgets {
  readonly config: Config['edge'];
  /** In greetings. */
  readonly hostname: string;
  readonly tls: TlsFiles;
  readonly edges: Edges;
  readonly messaging: Messaging;
  readonly disk: Pick<DiskGuard, 'requireRoom'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of connections that a listener closes because there are too many. */
  readonly onClosed: (listener: EdgeName) => (reason: string) => void;
  /** Opens one listener; may say better what is wrong with its address. */
  open<T>(listener: EdgeName, start: () => Promise<T>): Promise<T>;
}

/** The listeners by their names in `edge.protocols`. */
export type EdgeName = 'line' | 'smtps' | 'submission' | 'imaps' | 'imap' | 'pop3s' | 'pop3';

export interface RunningEdges extends Closable {
  /** Ports of the listeners that run. */
  readonly ports: Readonly<Partial<Record<EdgeName, number>>>;
  renewTls(files: TlsFiles): void;
}

interface Listener extends Closable {
  readonly port: number;
  renewTls(files: TlsFiles): void;
}

/** Starts the edge listeners that the configuration names; if one fails, those before it are closed. */
export async function startEdges(options: EdgesOptions): Promise<RunningEdges> {
  const running = new Map<EdgeName, Listener>();
  const close = async (): Promise<void> => {
    await Promise.all([...running.values()].map((listener) => listener.close()));
  };
  const starts = startsOf(options);
  try {
    for (const [name, start] of Object.entries(starts))
      if (options.config.protocols.includes(name))
        running.set(name as EdgeName, await options.open(name as EdgeName, start));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ports: Object.fromEntries([...running].map(([name, { port }]) => [name, port])),
    renewTls(files) {
      for (const listener of running.values()) listener.renewTls(files);
    },
    close,
  };
}

/** Bytes of a list or a message that finds room also while large ones take all. */
const smallBytes = 256 * 1024;

export interface EdgeBudgets {
  /** Memory for messages that clients send or fetch, by account, and by network where they are submitted. */
  readonly budget: Budget;
  /** Memory for the lists of messages of open mailboxes, by account. */
  readonly lists: Budget;
}

export function createEdgeBudgets(
  { maxContentBytes, maxMailboxBytes }: Pick<Config['edge'], 'maxContentBytes' | 'maxMailboxBytes'>,
  onRefused: (setting: 'edge.maxContentBytes' | 'edge.maxMailboxBytes') => void,
): EdgeBudgets {
  return {
    budget: createBudget({
      total: maxContentBytes,
      perCaller: maxContentBytes / 2,
      smallAmount: smallBytes,
      onRefused: () => onRefused('edge.maxContentBytes'),
    }),
    lists: createBudget({
      total: maxMailboxBytes,
      perCaller: (maxMailboxBytes * 7) / 8,
      smallAmount: smallBytes,
      onRefused: () => onRefused('edge.maxMailboxBytes'),
    }),
  };
}

function startsOf(options: EdgesOptions): Readonly<Partial<Record<EdgeName, () => Promise<Listener>>>> {
  const { config } = options;
  const { host, maxConnections, maxConnectionsPerAddress } = config;
  const cache = createFactsCache();
  const limited = { ...options, host, maxConnections, maxConnectionsPerAddress };
  const serving =
    (name: EdgeName, port: number, isImplicitTls: boolean, serve: EdgeListenerOptions['serve']) => () =>
      startEdgeListener({ ...limited, onClosed: options.onClosed(name), port, isImplicitTls, serve });
  const submitting = (name: EdgeName, port: number, isImplicitTls: boolean) => () =>
    startSubmission({ ...limited, onClosed: options.onClosed(name), port, isImplicitTls });
  const serveMailbox: EdgeListenerOptions['serve'] = (connection) =>
    serveImap(connection, { ...options, cache });
  const servePop: EdgeListenerOptions['serve'] = (connection) => servePop3(connection, options);
  return {
    line: serving('line', config.linePort, true, (connection) => serveLine(connection, options)),
    imaps: serving('imaps', config.imapsPort, true, serveMailbox),
    imap: serving('imap', config.imapPort, false, serveMailbox),
    pop3s: serving('pop3s', config.pop3sPort, true, servePop),
    pop3: serving('pop3', config.pop3Port, false, servePop),
    smtps: submitting('smtps', config.smtpsPort, true),
    submission: submitting('submission', config.submissionPort, false),
  };
}
