/** Many invented messages in the tables of a database, made by the engine itself. */
import Sqlite from 'better-sqlite3';
import pg from 'pg';

const domainCount = 500;
const clientCount = 20;
const ownDomainCount = 10;
const senderCount = 2000;
const recipientCount = 50_000;
const windowDays = 30;

/** The recipient of message `n`; a domain's addresses are `r…@d….example`. */
export function recipientOf(n: number): string {
  const at = (n * 7919) % recipientCount;
  return `r${at}@d${at % domainCount}.example`;
}

/** The UUID of message `n`, without `urn:uuid:`. */
export const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** The number of the only failed message to its domain. */
export const loneFailure = (count: number): number => Math.floor(count / 3000) * 1000 + 100;

type Run = (sql: string) => unknown;

// Words that both engines understand.
const digits = (expression: string, length: number): string =>
  `substr(cast(${10 ** length} + ${expression} as text), 2)`;
const idOf = `('m' || ${digits('n', 10)})`;
const uuidSql = `('00000000-0000-4000-8000-' || ${digits('n', 12)})`;
const ownDomain = `('own' || (n % ${ownDomainCount}) || '.example')`;
const senderSql = `('s' || (n % ${senderCount}) || '@' || ${ownDomain})`;
const clientSql = `('client-' || (n % ${clientCount}))`;
const recipientNumber = `((n * 7919) % ${recipientCount})`;
const recipientSql = `('r' || ${recipientNumber} || '@d' || (${recipientNumber} % ${domainCount}) || '.example')`;

/**
 * Of a thousand, ten fail or expire and one waits for its MDN. They are those of a few senders, clients and domains: most have no
 * failure, which is the longest search.
 */
function stateSql(count: number): string {
  return `case when n = ${loneFailure(count)} then 'failed' when n % 1000 < 8 then 'failed'
    when n % 1000 < 10 then 'expired' when n % 1000 = 10 then 'sent' else 'processed' end`;
}

const reasonSql = `case when n % 1000 < 4 then 'untrusted' when n % 1000 < 8 then 'no-certificate'
  when n % 1000 < 10 then 'no-processed-mdn' else '' end`;

async function insertAll(run: Run, count: number): Promise<void> {
  const beginMs = Date.now() - windowDays * 86_400_000;
  const at = `(${beginMs} + cast(n * ${(windowDays * 86_400_000) / count} as bigint))`;
  const series = `with recursive series(n) as (select cast(0 as bigint) union all select n + 1 from series where n + 1 < ${count})`;
  await run(`insert into message (id, client_id, uuid, wire_id, sender, sender_key, request_hash, response, is_xdm,
    is_asm_enabled, requests_final_delivery, created_at)
    ${series} select ${idOf}, ${clientSql}, ${uuidSql}, '<' || ${uuidSql} || '@' || ${ownDomain} || '>',
    ${senderSql}, ${senderSql}, '', '', 0, 0, 0, ${at}
    from series`);
  await run(`insert into message_recipient (id, message_id, position, address, address_key, state, has_dispatched_notice,
    reason, status_code, status_at, event_count, created_at, sender_key, client_id)
    ${series} select 'r' || ${idOf}, ${idOf}, 0, ${recipientSql}, ${recipientSql}, ${stateSql(count)}, 0, ${reasonSql}, '', ${at}, 1, ${at}, ${senderSql}, ${clientSql}
    from series`);
}

/** The indexes are made anew at the end, which takes a fraction of the time. */
async function fillSqlite(file: string, count: number): Promise<void> {
  const db = new Sqlite(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  db.pragma('foreign_keys = OFF');
  db.pragma('cache_size = -2000000');
  const indexes = db
    .prepare(
      `select name, sql from sqlite_master where type = 'index' and sql is not null and tbl_name in ('message', 'message_recipient')`,
    )
    .all() as { name: string; sql: string }[];
  for (const { name } of indexes) db.exec(`drop index ${name}`);
  await insertAll((sql) => db.exec(sql), count);
  for (const { sql } of indexes) db.exec(sql);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

async function fillPostgres(url: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`set session_replication_role = replica`);
    const { rows } = await client.query<{ name: string; sql: string }>(
      `select indexname as name, indexdef as sql from pg_indexes where tablename in ('message', 'message_recipient')
        and indexname not in (select conname from pg_constraint)`,
    );
    for (const { name } of rows) await client.query(`drop index ${name}`);
    await insertAll((sql) => client.query(sql), count);
    await client.query(`set maintenance_work_mem = '1GB'`);
    for (const { sql } of rows) await client.query(sql);
    await client.query('vacuum (analyze)');
  } finally {
    await client.end();
  }
}

/** The engine of the location's database, which must have its tables. */
export async function fillDatabase(
  { file, url }: { readonly file?: string | undefined; readonly url?: string | undefined },
  count: number,
): Promise<void> {
  if (url !== undefined) await fillPostgres(url, count);
  else if (file !== undefined) await fillSqlite(file, count);
}
