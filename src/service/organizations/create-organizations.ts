import { randomBytes } from 'node:crypto';
import { errorCode, type Clock } from '../../core/index.ts';
import { tablesOf, type AnyTransaction, type Storage, type Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { OrganizationsError } from './errors.ts';
import { createOrganizationsGuards, type OrganizationsGuards } from './guards.ts';
import {
  blankOrganization,
  checkSettings,
  operatorOrganization,
  readOrganizationRow,
  type Organization,
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
  /** The same for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): Organizations;
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

  async function find(id: string, anyTx?: AnyTransaction): Promise<Organization> {
    const tables = anyTx === undefined ? db : tablesOf<OrganizationsTables>(anyTx);
    const row = await tables.selectFrom('organization').selectAll().where('id', '=', id).executeTakeFirst();
    if (row !== undefined) return readOrganizationRow(await guards.organizations.check(row));
    if (id === operatorOrganization) return blankOrganization(id);
    throw new OrganizationsError('ORGANIZATION_UNKNOWN', `there is no organization ${id}`);
  }

  return {
    async create({ id = `org-${randomBytes(6).toString('hex')}`, ...settings }) {
      const columns = checkSettings(settings, blankOrganization(id), id);
      if (id === operatorOrganization) throw exists(id);
      const nowMs = clock.now().getTime();
      const row = guards.organizations.withMac({ id, ...columns, created_at: nowMs, updated_at: nowMs });
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
    get: (id) => find(id),
    update: (id, settings) =>
      storage.transaction<OrganizationsTables, Organization>(async (tx) => {
        await storage.forUpdate(tx.selectFrom('organization_state').select('id')).execute();
        const before = await find(id, tx);
        const nowMs = clock.now().getTime();
        const row = guards.organizations.withMac({
          id,
          ...checkSettings(settings, before),
          created_at: before.createdAt?.getTime() ?? nowMs,
          updated_at: nowMs,
        });
        await tx
          .insertInto('organization')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
          .execute();
        await record(tx, 'organization.update', id, { settings: Object.keys(settings).sort().join(' ') });
        return readOrganizationRow(row);
      }),
    as: (actor) => openOrganizations({ ...options, audit: audit.as(actor) }, guards),
  };
}

function exists(id: string): OrganizationsError {
  return new OrganizationsError('ORGANIZATION_EXISTS', `there is an organization ${id} already`);
}
