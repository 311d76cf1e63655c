import { sql } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { createLookups, tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { OrganizationsError } from './errors.ts';
import { findOrganization } from './find-organization.ts';
import { createOrganizationsGuards } from './guards.ts';
import type { OrganizationLimits } from './organization.ts';
import type { OrganizationsTables } from './tables.ts';

/** Announced to all nodes when an organization changes. */
export const organizationTopic = 'organizations';

/** What the clients of an organization may send on a day (UTC). */
export interface DayLimits {
  /** To be asked before the transaction; undefined if there is none. Throws ORGANIZATION_UNKNOWN. */
  find(organizationId: string): Promise<DayLimit | undefined>;
  /**
   * Counts a message in the transaction that accepts it, so that what is refused or repeated counts nothing.
   * Throws ORGANIZATION_DAY_FULL.
   */
  countIn(tx: AnyTransaction, limit: DayLimit, octets: number): Promise<void>;
}

export interface DayLimit extends Pick<OrganizationLimits, 'messagesPerDay' | 'octetsPerDay'> {
  readonly organizationId: string;
}

export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);
const dayMs = 86_400_000;

export function createDayLimits({
  storage,
  clock,
  ...guarding
}: { readonly storage: Storage; readonly clock: Clock } & Parameters<
  typeof createOrganizationsGuards
>[0]): DayLimits {
  const guards = createOrganizationsGuards(guarding);
  const lookups = createLookups(storage, organizationTopic);
  return {
    find: (organizationId) =>
      lookups.find(organizationId, async () => {
        const found = await findOrganization(storage.tables(), guards, organizationId);
        if (found === undefined)
          throw new OrganizationsError('ORGANIZATION_UNKNOWN', `there is no organization ${organizationId}`);
        const { messagesPerDay, octetsPerDay } = found.limits;
        if (messagesPerDay === undefined && octetsPerDay === undefined) return undefined;
        return { organizationId, ...found.limits };
      }),
    async countIn(tx, { organizationId, messagesPerDay, octetsPerDay }, octets) {
      const now = clock.now();
      const day = dayOf(now);
      // The clocks of two nodes differ around midnight: the later day stays.
      const sum = (column: 'messages' | 'octets') =>
        sql<number>`case when organization_sent.day < excluded.day then excluded.${sql.ref(column)}
          else organization_sent.${sql.ref(column)} + excluded.${sql.ref(column)} end`;
      const counted = await tablesOf<OrganizationsTables>(tx)
        .insertInto('organization_sent')
        .values({ organization_id: organizationId, day, messages: 1, octets })
        .onConflict((conflict) =>
          conflict.column('organization_id').doUpdateSet({
            messages: sum('messages'),
            octets: sum('octets'),
            day: sql<string>`case when organization_sent.day < excluded.day then excluded.day
              else organization_sent.day end`,
          }),
        )
        .returning(['messages', 'octets'])
        .executeTakeFirstOrThrow();
      const full =
        messagesPerDay !== undefined && Number(counted.messages) > messagesPerDay
          ? `${messagesPerDay} messages`
          : octetsPerDay !== undefined && Number(counted.octets) > octetsPerDay
            ? `${octetsPerDay} octets`
            : undefined;
      if (full === undefined) return;
      throw new OrganizationsError(
        'ORGANIZATION_DAY_FULL',
        `organization ${organizationId} may send ${full} a day`,
        {
          publicMessage: `Your organization may send ${full} on a day (UTC), and this one would be more.`,
          retryAfterSeconds: Math.ceil((Date.parse(day) + dayMs - now.getTime()) / 1000),
        },
      );
    },
  };
}
