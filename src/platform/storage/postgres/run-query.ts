import type { CompiledQuery, QueryResult } from 'kysely';
import type pg from 'pg';
import { translated } from './errors.ts';
import { toParameters } from '../values.ts';
import { createHash } from 'node:crypto';

/** Longest interval of checks of connections that wait for an answer. */
const watchEveryMs = 5000;

/** The input of the runner. */
export interface StatementRunnerDependencies {
  readonly names: StatementNames;
  readonly counts: { statements: number };
  /** The server ends statements sooner; one without an answer for this long has lost its connection. */
  readonly answerMs: number;
  /** The same of what takes no time on the server, such as `begin`. */
  readonly promptMs: number;
}

/** Statements without an answer on one connection, and since when nothing was answered. */
interface Waiting {
  count: number;
  since: number;
  limitMs: number;
}

/**
 * Runs compiled queries. A connection that never answers is closed, which rejects the queries waiting on it.
 */
export class StatementRunner {
  readonly #deps: StatementRunnerDependencies;
  readonly #waiting = new Map<pg.ClientBase, Waiting>();
  /** Their statements may take any time. */
  readonly #unlimited = new Set<pg.ClientBase>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: StatementRunnerDependencies) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#closeSilent(), Math.min(watchEveryMs, deps.promptMs / 2));
    this.#timer.unref();
  }

  async run<R>(
    client: pg.ClientBase,
    { sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>,
  ): Promise<QueryResult<R>> {
    const values = toParameters(parameters);
    const name = this.#deps.names.nameOf(sql);
    const { rows, rowCount, command } = await this.watched(client, () =>
      sendTogether<R & pg.QueryResultRow>(client, {
        text: sql,
        values,
        ...(name === undefined ? {} : { name }),
      }),
    );
    if (command === 'SELECT') return { rows };
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  /** A command of a transaction: `begin`, `commit`, `rollback`. */
  command(client: pg.ClientBase, text: string): Promise<pg.QueryResult> {
    const limitMs = text === 'begin' ? this.#deps.promptMs : undefined;
    return this.watched(client, () => sendTogether(client, { text }), limitMs);
  }

  /** A statement that takes no time on the server, with the connection to itself. */
  prompt(client: pg.ClientBase, text: string): Promise<pg.QueryResult> {
    return this.watched(client, () => client.query(text), this.#deps.promptMs);
  }

  async watched<R>(client: pg.ClientBase, work: () => Promise<R>, limitMs = this.#deps.answerMs): Promise<R> {
    this.#deps.counts.statements++;
    const waiting = this.#waiting.get(client) ?? { count: 0, since: performance.now(), limitMs };
    waiting.count++;
    waiting.limitMs = limitMs;
    this.#waiting.set(client, waiting);
    try {
      return await translated(work);
    } finally {
      waiting.since = performance.now();
      if (--waiting.count === 0) this.#waiting.delete(client);
    }
  }

  /**
   * Lets the statements of a connection take any time, until the returned function is called: a migration of
   * millions of rows.
   */
  allowLong(client: pg.ClientBase): () => void {
    this.#unlimited.add(client);
    return () => void this.#unlimited.delete(client);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #closeSilent(): void {
    const now = performance.now();
    for (const [client, { since, limitMs }] of this.#waiting) {
      // Not `end`: on a pipelined connection it waits for the answers.
      if (now - since > limitMs && !this.#unlimited.has(client))
        (client as pg.Client).connection.stream.destroy();
    }
  }
}

const corked = new WeakSet<object>();

/** Statements asked for before the event loop goes on are written to the socket together. */
function sendTogether<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: pg.QueryConfig,
): Promise<pg.QueryResult<R>> {
  const { stream } = (client as pg.Client).connection;
  if (!corked.has(stream)) {
    corked.add(stream);
    stream.cork();
    process.nextTick(() => {
      corked.delete(stream);
      stream.uncork();
    });
  }
  return client.query<R>(query);
}

/** Names given to statements, per storage: each connection keeps its own prepared copy of each. */
const maxNames = 500;
/** Longer statements differ with every list of values in them. */
const maxNamedLength = 10_000;

/**
 * Gives the statements that come again a name, so that the server parses and plans them once for each
 * connection. A statement is named at its second use. Those that differ each time (lists of values) stay
 * unnamed once all names are given away.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #seenOnce = new Set<string>();

  nameOf(sql: string): string | undefined {
    const name = this.#names.get(sql);
    if (name !== undefined) return name;
    if (sql.length > maxNamedLength || this.#names.size >= maxNames) return undefined;
    if (!this.#seenOnce.delete(sql)) {
      if (this.#seenOnce.size >= maxNames) this.#seenOnce.clear();
      this.#seenOnce.add(sql);
      return undefined;
    }
    const given = `s_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
    this.#names.set(sql, given);
    return given;
  }
}
