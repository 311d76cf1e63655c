import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { OrganizationLimits } from '../organizations/index.ts';
import type { MessagingDependencies } from './ports.ts';

/** Time from one count to the next; until then what has come or gone is not seen. */
const everyMs = 5 * 60_000;
/** Rows of one statement: other requests of a node on SQLite wait so long. */
const rowsPerSlice = 1000;

/**
 * Counts what the organizations with a limit of storage keep: received messages, each once for a domain, and
 * what edge accounts keep of sent ones; as octets of the messages themselves. Counted anew instead of adding
 * up, so that what retention deletes and a domain that moves need no bookkeeping, and no receipt waits for
 * the count of another (Decision 0033).
 */
export async function countStored({
  storage,
  clock,
}: Pick<MessagingDependencies, 'storage' | 'clock'>): Promise<void> {
  const db = storage.tables<unknown>();
  const nowMs = clock.now().getTime();
  const { rows } = await sql<{ id: string; limits: string; counted_at: number | null }>`
    select o.id, o.limits, s.counted_at from organization o
    left join organization_stored s on s.organization_id = o.id
    where o.limits <> '{}'`.execute(db);
  const due = rows.filter(({ limits, counted_at: countedAt }) => {
    // The clock may have been set back.
    const sinceMs = nowMs - Number(countedAt ?? 0);
    const isCounted = countedAt !== null && sinceMs >= 0 && sinceMs < everyMs;
    return (JSON.parse(limits) as OrganizationLimits).storageOctets !== undefined && !isCounted;
  });
  if (due.length === 0) return;
  const sent = await sumSent(db);
  for (const { id } of due) {
    const octets = (await sumReceived(db, id)) + (sent.get(id) ?? 0);
    await sql`
      insert into organization_stored (organization_id, octets, counted_at) values (${id}, ${octets}, ${nowMs})
      on conflict (organization_id)
      do update set octets = excluded.octets, counted_at = excluded.counted_at`.execute(db);
  }
}

interface Row {
  readonly at: number;
  readonly id: string;
  readonly octets: number;
}

interface SentRow extends Row {
  /** Null if the client was removed. */
  readonly organization: string | null;
}

/** The rows behind one, in the order of their times and ids. */
type Slice<R extends Row> = (at: number, id: string) => RawBuilder<R>;

async function sumReceived(db: Kysely<unknown>, organizationId: string): Promise<number> {
  const { rows } = await sql<{ domain: string }>`
    select domain from hosted_domain where organization_id = ${organizationId}`.execute(db);
  let octets = 0;
  for (const { domain } of rows)
    await readSlices(db, receivedOf(domain), (row) => {
      octets += Number(row.octets);
    });
  return octets;
}

const receivedOf =
  (domain: string): Slice<Row> =>
  (at, id) =>
    sql<Row>`
    select c.received_at as at, c.id as id, case when exists (
      select 1 from inbox_copy e
      where e.message_id = c.message_id and e.domain = c.domain and e.id < c.id
    ) then 0 else m.size_bytes end as octets
    from inbox_copy c join inbox_message m on m.id = c.message_id
    where c.domain = ${domain} and (c.received_at, c.id) > (${at}, ${id})
    order by c.received_at, c.id limit ${sql.lit(rowsPerSlice)}`;

/** Of all organizations in one pass: no index leads from one to what its clients have sent. */
async function sumSent(db: Kysely<unknown>): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  await readSlices(db, sentBehind, ({ organization, octets }) => {
    if (organization !== null) sums.set(organization, (sums.get(organization) ?? 0) + Number(octets));
  });
  return sums;
}

const sentBehind: Slice<SentRow> = (at, id) =>
  sql<SentRow>`
    select s.created_at as at, s.message_id as id, s.size_bytes as octets, oc.organization_id as organization
    from sent_message s join message m on m.id = s.message_id
    left join oauth_client oc on oc.client_id = m.client_id
    where (s.created_at, s.message_id) > (${at}, ${id})
    order by s.created_at, s.message_id limit ${sql.lit(rowsPerSlice)}`;

async function readSlices<R extends Row>(
  db: Kysely<unknown>,
  slice: Slice<R>,
  take: (row: R) => void,
): Promise<void> {
  let [at, id] = [-1, ''];
  for (;;) {
    const { rows } = await slice(at, id).execute(db);
    for (const row of rows) take(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerSlice) return;
    [at, id] = [Number(last.at), last.id];
    await nextTurn();
  }
}
