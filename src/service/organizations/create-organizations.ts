import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { errorCode, quoteForShell, type Clock } from '../../core/index.ts';
import { tablesOf, type AnyTransaction, type Storage, type Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { dayOf, organizationTopic } from './day-limits.ts';
import { OrganizationsError } from './errors.ts';
import { findOrganization } from './find-organization.ts';
import { createOrganizationsGuards, type OrganizationsGuards } from './guards.ts';
import {
  blankOrganization,
  checkSettings,
  isLine,
  limitNames,
  operatorOrganization,
  readOrganizationRow,
  type Organization,
  type OrganizationLimits,
  type OrganizationSettings,
} from './organization.ts';
import type { OrganizationsTables } from './tables.ts';

export interface NewOrganization extends OrganizationSettings {
  readonly name: string;
  /** Chosen by the operator; generated if absent. */
  readonly id?: string;
}

/** The organizations that this HISP serves. Every change is audited in its own transaction. */
export interface Organizations {
  /** Throws ORGANIZATION_EXISTS, and ORGANIZATION_SETTINGS_INVALID with the fields at fault. */
  create(organization: NewOrganization): Promise<Organization>;
  /** The operator's own first, then by name. */
  list(): Promise<readonly Organization[]>;
  /** Throws ORGANIZATION_UNKNOWN, INTEGRITY_ROW_CHANGED. */
  get(id: string): Promise<Organization>;
  /** Changes the given settings and keeps the others. */
  update(id: string, settings: OrganizationSettings): Promise<Organization>;
  /**
   * Closes one in a transaction that ends what belongs to it, and returns since when it is closed. Throws
   * ORGANIZATION_UNKNOWN, ORGANIZATION_BUILT_IN, ORGANIZATION_SETTINGS_INVALID for a reason that is no line.
   */
  closeIn(tx: AnyTransaction, id: string, reason: string): Promise<Date>;
  /** The time at which it was closed; undefined if it was not. Throws ORGANIZATION_UNKNOWN. */
  reopenIn(tx: AnyTransaction, id: string): Promise<Date | undefined>;
  /**
   * Limits that are reached or nearly so. `count` gives the active addresses by
   * organization, if one has a limit of them.
   */
  findNearLimits(count: CountAddresses): Promise<readonly NearLimit[]>;
  /** What of each of its limits is used. */
  measureLimits(organization: Organization, count: CountAddresses): Promise<OrganizationLimits>;
  /** The same for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): Organizations;
}

type CountAddresses = () => Promise<ReadonlyMap<string, number>>;

/** A limit of which four fifths or more are used. */
export interface NearLimit {
  readonly organizationId: string;
  readonly name: string;
  readonly limit: (typeof limitNames)[number];
  readonly used: number;
  readonly allowed: number;
}

export const nearShare = 0.8;

const limitWords = {
  addresses: 'active addresses',
  messagesPerDay: 'messages of today',
  octetsPerDay: 'octets of today',
  storageOctets: 'octets stored',
} as const satisfies Record<NearLimit['limit'], string>;

const daily = 'What its clients send is refused until midnight (UTC)';
const limitResults = {
  addresses: 'Further addresses are refused',
  messagesPerDay: daily,
  octetsPerDay: daily,
  storageOctets: 'Mail for its addresses is refused',
} as const satisfies Record<NearLimit['limit'], string>;

/** What is used up, in words. */
export function describeNearLimit({ name, limit, used, allowed }: NearLimit): string {
  const [count, most] = [used, allowed].map((one) => one.toLocaleString('en-US'));
  return `${name}: ${count} of ${most} ${limitWords[limit]}.`;
}

/** What follows from it, and what to do. */
export function adviceForNearLimit({ organizationId, limit, used, allowed }: NearLimit): string {
  const what = limitResults[limit];
  return `${used >= allowed ? what : `${what} once it is reached`}. Ask them, or raise it: openhisp organization edit ${quoteForShell(organizationId)} --limit ${quoteForShell(limit)}=NUMBER.`;
}

export interface OrganizationsOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
}

export function createOrganizations(options: OrganizationsOptions): Organizations {
  return openOrganizations(options, createOrganizationsGuards(options));
}

function openOrganizations(options: OrganizationsOptions, guards: OrganizationsGuards): Organizations {
  const { storage, clock, audit } = options;
  const db = storage.tables<OrganizationsTables>();

  const record = (
    tx: AnyTransaction,
    action: string,
    organizationId: string,
    objects: Record<string, string> = {},
  ): Promise<void> =>
    audit.recordIn(tx, {
      action,
      actor: 'operator',
      outcome: 'ok',
      objects: { organization: organizationId, ...objects },
    });

  async function require(id: string, tx: Kysely<OrganizationsTables> = db): Promise<Organization> {
    const organization = await findOrganization(tx, guards, id);
    if (organization !== undefined) return organization;
    throw new OrganizationsError('ORGANIZATION_UNKNOWN', `there is no organization ${id}`);
  }

  const lock = (tx: Kysely<OrganizationsTables>): Promise<unknown> =>
    storage.forUpdate(tx.selectFrom('organization_state').select('id')).execute();

  async function put(
    tx: Kysely<OrganizationsTables>,
    before: Organization,
    values: Partial<Omit<OrganizationsTables['organization'], 'mac'>>,
  ): Promise<OrganizationsTables['organization']> {
    const nowMs = clock.now().getTime();
    const row = guards.organizations.withMac({
      id: before.id,
      ...checkSettings({}, before),
      closed_at: before.closedAt?.getTime() ?? null,
      closed_reason: before.closedReason,
      created_at: before.createdAt?.getTime() ?? nowMs,
      updated_at: nowMs,
      ...values,
    });
    await tx
      .insertInto('organization')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute();
    storage.announce(tx, organizationTopic);
    return row;
  }

  /** What each organization has used of its limits. */
  async function readUsed(
    count: CountAddresses,
    all: readonly Pick<Organization, 'limits'>[],
  ): Promise<(id: string) => Record<NearLimit['limit'], number>> {
    const sent = new Map(
      (
        await db.selectFrom('organization_sent').selectAll().where('day', '=', dayOf(clock.now())).execute()
      ).map((row) => [row.organization_id, row]),
    );
    const stored = new Map(
      (await db.selectFrom('organization_stored').select(['organization_id', 'octets']).execute()).map(
        (row) => [row.organization_id, Number(row.octets)],
      ),
    );
    const addresses = all.some(({ limits }) => limits.addresses !== undefined)
      ? await count()
      : new Map<string, number>();
    return (id) => ({
      addresses: addresses.get(id) ?? 0,
      messagesPerDay: Number(sent.get(id)?.messages ?? 0),
      octetsPerDay: Number(sent.get(id)?.octets ?? 0),
      storageOctets: stored.get(id) ?? 0,
    });
  }

  return {
    async create({ id = `org-${randomBytes(6).toString('hex')}`, ...settings }) {
      const columns = checkSettings(settings, blankOrganization(id), id);
      if (id === operatorOrganization) throw exists(id);
      const nowMs = clock.now().getTime();
      const row = guards.organizations.withMac({
        id,
        ...columns,
        closed_at: null,
        closed_reason: '',
        created_at: nowMs,
        updated_at: nowMs,
      });
      await storage
        .transaction<OrganizationsTables, void>(async (tx) => {
          await tx.insertInto('organization').values(row).execute();
          await record(tx, 'organization.create', id);
        })
        .catch((error: unknown) => {
          throw errorCode(error) === 'PLATFORM_STORAGE_DUPLICATE' ? exists(id) : error;
        });
      return readOrganizationRow(row);
    },
    async list() {
      const rows = await db.selectFrom('organization').selectAll().orderBy('name').orderBy('id').execute();
      const stored = rows.map(readOrganizationRow);
      const own = stored.find(({ id }) => id === operatorOrganization);
      return [
        own ?? blankOrganization(operatorOrganization),
        ...stored.filter((organization) => organization !== own),
      ];
    },
    get: (id) => require(id),
    update: (id, settings) =>
      storage.transaction<OrganizationsTables, Organization>(async (tx) => {
        await lock(tx);
        const before = await require(id, tx);
        const row = await put(tx, before, checkSettings(settings, before));
        await record(tx, 'organization.update', id, { settings: Object.keys(settings).sort().join(' ') });
        return readOrganizationRow(row);
      }),
    async closeIn(anyTx, id, reason) {
      const tx = tablesOf<OrganizationsTables>(anyTx);
      checkReason(reason);
      await lock(tx);
      const before = await require(id, tx);
      if (id === operatorOrganization)
        throw new OrganizationsError(
          'ORGANIZATION_BUILT_IN',
          "the operator's own organization is not closed",
        );
      if (before.closedAt !== undefined) return before.closedAt;
      const at = clock.now();
      await put(tx, before, { closed_at: at.getTime(), closed_reason: reason });
      await record(tx, 'organization.close', id, { reason });
      return at;
    },
    async reopenIn(anyTx, id) {
      const tx = tablesOf<OrganizationsTables>(anyTx);
      await lock(tx);
      const before = await require(id, tx);
      if (before.closedAt === undefined) return undefined;
      await put(tx, before, { closed_at: null, closed_reason: '' });
      await record(tx, 'organization.reopen', id);
      return before.closedAt;
    },
    async measureLimits({ id, limits }, count) {
      const used = await readUsed(count, [{ limits }]);
      return Object.fromEntries(
        limitNames.flatMap((name) => (limits[name] === undefined ? [] : [[name, used(id)[name]]])),
      );
    },
    async findNearLimits(count) {
      const limited = await db.selectFrom('organization').selectAll().where('limits', '<>', '{}').execute();
      const all = limited.map(readOrganizationRow);
      const used = await readUsed(count, all);
      return all.flatMap(({ id, name, limits, closedAt }) => {
        if (closedAt !== undefined) return [];
        return limitNames.flatMap((limit) => {
          const allowed = limits[limit];
          const count = used(id)[limit];
          return allowed === undefined || count < allowed * nearShare
            ? []
            : [{ organizationId: id, name, limit, used: count, allowed }];
        });
      });
    },
    as: (actor) => openOrganizations({ ...options, audit: audit.as(actor) }, guards),
  };
}

function checkReason(reason: string): void {
  if (isLine(reason, 200)) return;
  const detail = 'A reason has 1 to 200 visible characters in one line.';
  throw new OrganizationsError('ORGANIZATION_SETTINGS_INVALID', detail, {
    problems: [{ field: 'reason', reason: 'invalid', detail }],
  });
}

function exists(id: string): OrganizationsError {
  return new OrganizationsError('ORGANIZATION_EXISTS', `there is an organization ${id} already`);
}
