import pg, { type CustomTypesConfig } from 'pg';
import { PlatformError } from '../../errors.ts';
import { translatedError } from './errors.ts';
import type { StatementRunner } from './run-query.ts';

/** Connection settings of one database. */
export interface PostgresTarget {
  /** `postgres://user:password@host:port/database`; may carry a password. */
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
}

export interface ConnectionLimits {
  /** Longest wait for a new connection, or for a free one of a pool. */
  readonly connectMs: number;
  /** Longest time for one statement. */
  readonly statementMs: number;
  /** Longest wait for a lock. */
  readonly lockMs: number;
  /** Longest pause inside a transaction; the server then ends it. */
  readonly idleInTransactionMs: number;
}

/**
 * The options of one connection. Throws PLATFORM_CONFIG_INVALID for an address that cannot be read, without
 * repeating it.
 */
export function clientOptions(target: PostgresTarget, limits: ConnectionLimits): pg.ClientConfig {
  requireAddress(target.url);
  return {
    connectionString: target.url,
    application_name: target.applicationName,
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    types: valueTypes,
  };
}

/** Of any other word the driver makes verify-full, or no TLS at all, without saying so. */
const tlsModes: readonly string[] = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Refuses anything but an address of a PostgreSQL; the text never repeats it, because it may carry a
 * password.
 */
function requireAddress(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isPostgres = parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:';
  if (!isPostgres || parsed.pathname.length <= 1)
    throw invalid('not an address of a PostgreSQL database (postgres://user@host:5432/database)');
  if (parsed.searchParams.getAll('sslmode').some((mode) => !tlsModes.includes(mode)))
    throw invalid(`sslmode must be one of ${tlsModes.join(', ')}`);
}

function invalid(problem: string): PlatformError {
  return new PlatformError('PLATFORM_CONFIG_INVALID', `storage.url: ${problem}`);
}

/** A connection acquired from a pool. */
export interface PooledClient {
  readonly client: pg.PoolClient;
  /** Gives it back, or closes it when `isBroken`. */
  release(isBroken: boolean): void;
}

/** A bounded number of connections. */
export class ConnectionPool {
  /**
   * Its connections send each statement at once, behind those that are not answered yet. They take no COPY
   * and no cursor.
   */
  readonly isPipelined: boolean;
  readonly #pool: pg.Pool;
  /** How often each connection was taken. Those that are missing are not set up yet. */
  readonly #uses = new WeakMap<pg.PoolClient, number>();
  #isClosed = false;

  readonly #statements: StatementRunner;

  constructor(options: pg.ClientConfig, max: number, statements: StatementRunner) {
    this.#statements = statements;
    this.isPipelined = options.pipeline === true;
    this.#pool = new pg.Pool({ ...options, max, idleTimeoutMillis: 60_000 });
    // An idle connection that is lost: the pool has dropped it, the next caller gets a new one.
    this.#pool.on('error', () => {});
    // One that is lost while in use: its statement rejects. The driver reports a loss twice, so this stays
    // for good.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  async take(): Promise<PooledClient> {
    if (this.#isClosed) throw new PlatformError('PLATFORM_STORAGE_CLOSED', 'the storage is closed');
    try {
      const client = await this.#pool.connect();
      await this.#setUp(client);
      return { client, release: (isBroken) => client.release(isBroken) };
    } catch (error) {
      throw translatedError(error);
    }
  }

  async #setUp(client: pg.PoolClient): Promise<void> {
    const uses = (this.#uses.get(client) ?? 0) + 1;
    try {
      if (uses === 1) await this.#prepare(client);
      else if (isTimeToPlanAgain(uses)) await this.#statements.prompt(client, 'discard plans');
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#uses.set(client, uses);
  }

  async #prepare(client: pg.PoolClient): Promise<void> {
    const { rows } = await this.#statements.prompt(client, prepareConnection);
    if (rows[0]?.is_standby === 1)
      throw new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', 'the PostgreSQL that answers is a standby');
  }

  /** Runs `work` with a connection; `isBroken` decides by the error whether the connection is discarded. */
  async use<R>(
    work: (client: pg.PoolClient) => Promise<R>,
    isBroken: (error: unknown) => boolean,
  ): Promise<R> {
    const { client, release } = await this.take();
    try {
      const result = await work(client);
      release(false);
      return result;
    } catch (error) {
      release(isBroken(error));
      throw error;
    }
  }

  /** Waits for the connections in use. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#pool.end();
  }
}

/**
 * The server keeps the plan of a named statement until the statistics of its tables change. While a table is
 * empty all its indexes look alike, and autovacuum's first analysis comes a minute later: until then an MDN
 * would walk all messages of its sender. A plan is made in a tenth of a millisecond, so it is made again
 * whenever the use of the connection has doubled, and in the long run at
 * an interval: a service may have looked into empty tables for days before its first mail.
 */
function isTimeToPlanAgain(uses: number): boolean {
  return uses % planAgainEvery === 0 || (uses >= 64 && Number.isInteger(Math.log2(uses)));
}

/** Uses of a connection: seconds of a busy one. */
const planAgainEvery = 2048;

/**
 * Expressions that set up keepalive: the locks of a machine that lost power are released after 25 seconds,
 * not after the system's two hours.
 */
export const keepAlive = Object.entries({ idle: 10, interval: 5, count: 3 })
  .map(([name, value]) => `set_config('tcp_keepalives_${name}', '${value}', false)`)
  .join(', ');

/**
 * Set-up of each new connection. A server set to commit without flushing would break durability. A standby
 * answers with an older state, and a connection to it would stay when the primary is back.
 */
const prepareConnection = `
  select pg_is_in_recovery() as is_standby, ${keepAlive},
    case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', false) end`;

/** A connection outside of all pools. */
export async function connectAlone(options: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(options);
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw translatedError(error);
  }
  return client;
}

const { builtins } = pg.types;

/**
 * Values as SQLite gives them: 64-bit integers and sums as numbers, truth values as 0 or 1, blobs as bytes.
 * Everything else is left to the driver.
 */
const valueTypes: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (format !== 'binary' && (oid === builtins.INT8 || oid === builtins.NUMERIC)) return toNumber;
    if (format !== 'binary' && oid === builtins.BOOL) return toZeroOrOne;
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

function toNumber(text: string): number {
  return Number(text);
}

function toZeroOrOne(text: string): number {
  return text === 't' ? 1 : 0;
}
