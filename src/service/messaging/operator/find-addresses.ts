import { sql, type Kysely, type RawBuilder } from 'kysely';
import { everything, whereOwned, type Owned } from '../../organizations/index.ts';
import { domainIn } from '../domain-of.ts';
import type { MessagingTables } from '../tables.ts';

const maxAddresses = 10;
/** Of one kind, for an organization: what others have is skipped. */
const maxSteps = 100;
/** Messages of one address among which an organization's are looked for, the newest. */
const maxMessages = 1000;

interface Source {
  readonly table: keyof MessagingTables;
  /** An index of the table begins with it and goes on with the time. */
  readonly column: RawBuilder<string>;
  readonly newest: RawBuilder<unknown>;
  readonly owner: 'clients' | 'domains';
  readonly ownerOf: RawBuilder<unknown>;
  readonly copies?: RawBuilder<unknown>;
}

const byClient = { newest: sql`created_at desc`, owner: 'clients', ownerOf: sql`client_id` } as const;
const byDomain = { owner: 'domains', ownerOf: sql`domain` } as const;
const sources: readonly Source[] = [
  { ...byClient, table: 'message_recipient', column: sql`address_key` },
  { ...byClient, table: 'message', column: sql`sender_key` },
  { ...byDomain, newest: sql`received_at desc`, table: 'inbox_copy', column: sql`address_key` },
  {
    ...byDomain,
    newest: sql`inbox_message.received_at desc`,
    table: 'inbox_message',
    column: sql`lower(sender)`,
    copies: sql`join inbox_copy on inbox_copy.message_id = inbox_message.id`,
  },
];

/** Domains of one kind that are looked through; each is one look into an index. */
const maxDomains = 1000;

const domainSources: readonly Source[] = sources.map((source) => ({
  ...source,
  column: source.table === 'inbox_copy' ? sql`inbox_copy.domain` : domainIn(source.column),
}));

/** Domains of senders and recipients that have this text in them, lower-cased: at most ten. */
export async function findDomainsWith(
  db: Kysely<MessagingTables>,
  text: string,
  owned: Owned = everything,
): Promise<{ readonly domains: readonly string[]; readonly hasMore: boolean }> {
  const wanted = text.toLowerCase();
  const found = new Set<string>();
  let hasMore = false;
  for (const source of domainSources) {
    const all = await listDomains(db, source);
    hasMore ||= all.length === maxDomains;
    for (const domain of all) {
      if (!domain.includes(wanted) || found.has(domain)) continue;
      if (!(await isOwnedBy(db, source, domain, owned))) continue;
      if (found.size === maxAddresses) return { domains: [...found], hasMore: true };
      found.add(domain);
    }
  }
  return { domains: [...found], hasMore };
}

async function listDomains(db: Kysely<MessagingTables>, { table, column }: Source): Promise<string[]> {
  const { rows } = await sql<{ domain: string | null }>`
    with recursive listed (domain, number) as (
      select (select min(${column}) from ${sql.table(table)}), 1
      union all
      select (select min(${column}) from ${sql.table(table)} where ${column} > listed.domain), number + 1
      from listed where listed.domain is not null and number < ${maxDomains})
    select domain from listed`.execute(db);
  return rows.flatMap(({ domain }) => domain ?? []);
}

export interface BegunAddresses {
  readonly addresses: readonly string[];
  readonly hasMore: boolean;
}

/**
 * Addresses of senders and recipients that begin so, lower-cased: the first ten of each kind, before them
 * those of the given domains. Each costs one look into an index, whatever the number of messages.
 */
export async function findAddressesBeginning(
  db: Kysely<MessagingTables>,
  start: string,
  domains: readonly string[] = [],
  owned: Owned = everything,
): Promise<BegunAddresses> {
  const begun = start.toLowerCase();
  const found = new Set<string>();
  let hasMore = false;
  for (const source of sources)
    for (const wanted of domains.length === 0 ? [[]] : [domains.toSorted(), []]) {
      let from = begun;
      let count = 0;
      for (let step = 0; ; step++) {
        const address = await findFirst(db, source, from, begun);
        if (address === undefined) break;
        if (count === maxAddresses || step === maxSteps) {
          hasMore = true;
          break;
        }
        from = following(address, wanted);
        const isWanted = wanted.length === 0 || wanted.includes(domainOf(address));
        if (!isWanted || !(await isOwnedBy(db, source, address, owned))) continue;
        found.add(address);
        count++;
      }
    }
  return { addresses: [...found], hasMore };
}

async function findFirst(
  db: Kysely<MessagingTables>,
  { table, column }: Source,
  from: string,
  begun: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ address: string | null }>`
    select min(${column}) as address from ${sql.table(table)}
    where ${column} >= ${from} and ${column} < ${`${begun}\u{10FFFF}`}`.execute(db);
  return rows[0]?.address ?? undefined;
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** The next address that may be wanted: of the same name in the next domain, or of the next name. */
function following(address: string, wanted: readonly string[]): string {
  if (wanted.length === 0) return `${address}\u0001`;
  const name = address.slice(0, address.lastIndexOf('@') + 1);
  return name + (wanted.find((domain) => `${name}${domain}` > address) ?? '\u{10FFFF}');
}

async function isOwnedBy(
  db: Kysely<MessagingTables>,
  { table, column, newest, owner, ownerOf, copies = sql`` }: Source,
  address: string,
  owned: Owned,
): Promise<boolean> {
  if (owned === everything) return true;
  const { rows } = await sql`
    select 1 from (select ${ownerOf} as owner from ${sql.table(table)} ${copies}
      where ${column} = ${address} order by ${newest} limit ${maxMessages}) as newest
    where ${whereOwned(owned, owner, sql.ref('owner'))} limit 1`.execute(db);
  return rows.length > 0;
}
