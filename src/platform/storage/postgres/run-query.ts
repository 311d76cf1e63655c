import type { CompiledQuery, QueryResult } from 'kysely';
import type pg from 'pg';
import { translated } from './errors.ts';
import type { StatementNames } from './statements.ts';
import { toParameters } from '../values.ts';

/** Interval of checks of connections that wait for an answer. */
const watchEveryMs = 5000;

/** The input of the runner. */
export interface StatementRunnerDependencies {
  readonly names: StatementNames;
  readonly counts: { statements: number };
  /** The server ends statements sooner; one without an answer for this long has lost its connection. */
  readonly answerMs: number;
}

/** Runs compiled queries. A connection that never answers is closed, which rejects the queries waiting on it. */
export class StatementRunner {
  readonly #deps: StatementRunnerDependencies;
  readonly #waiting = new Map<pg.ClientBase, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: StatementRunnerDependencies) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#closeSilent(), watchEveryMs);
    this.#timer.unref();
  }

  async run<R>(
    client: pg.ClientBase,
    { sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>,
  ): Promise<QueryResult<R>> {
    const values = toParameters(parameters);
    const name = this.#deps.names.nameOf(sql);
    const { rows, rowCount, command } = await this.watched(client, () =>
      client.query<R & pg.QueryResultRow>({ text: sql, values, ...(name === undefined ? {} : { name }) }),
    );
    if (command === 'SELECT') return { rows };
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  async watched<R>(client: pg.ClientBase, work: () => Promise<R>): Promise<R> {
    this.#deps.counts.statements++;
    this.#waiting.set(client, performance.now());
    try {
      return await translated(work);
    } finally {
      this.#waiting.delete(client);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #closeSilent(): void {
    const latest = performance.now() - this.#deps.answerMs;
    for (const [client, since] of this.#waiting) {
      // With a statement in progress the driver cuts the connection.
      if (since < latest) void (client as pg.Client).end().catch(() => {});
    }
  }
}
