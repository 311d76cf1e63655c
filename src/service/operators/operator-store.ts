import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { errorCode } from '../../core/index.ts';
import { OperatorsError } from './errors.ts';
import {
  findOperatorRow,
  lockOperatorRow,
  toOperator,
  type Operator,
  type OperatorEntry,
  type OperatorParts,
  type OperatorRow,
} from './operator.ts';
import { meansName, nameKeyOf, requireOperatorName } from './operator-name.ts';
import { requireRoleOf, type Role } from './roles.ts';
import type { OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;

/** The operators of the console. Every change is audited in its own transaction. */
export interface OperatorStore {
  /**
   * For all of this HISP, or inside one organization. Throws OPERATORS_NAME_INVALID, OPERATORS_NAME_TAKEN,
   * OPERATORS_ROLE_INVALID for a role that there is not at this place, ORGANIZATION_UNKNOWN,
   * ORGANIZATION_CLOSED.
   */
  create(name: string, role: Role, organizationId?: string): Promise<Operator>;
  /** By name. */
  list(): Promise<readonly OperatorEntry[]>;
  find(name: string): Promise<Operator | undefined>;
  /** This method and all below throw OPERATORS_UNKNOWN. */
  get(name: string): Promise<Operator>;
  /** Takes effect at the next request. The organization stays. Throws OPERATORS_ROLE_INVALID. */
  setRole(name: string, role: Role): Promise<Operator>;
  /**
   * Ends sessions and revokes tokens and links at once. Passkeys are kept, in case the operator is enabled
   * again.
   */
  disable(name: string): Promise<Operator>;
  enable(name: string): Promise<Operator>;
}

export function createOperatorStore({
  storage,
  clock,
  audit,
  guards,
  ownership,
}: OperatorParts): OperatorStore {
  const db = storage.tables<OperatorTables>();

  async function requireRow(on: Tx, name: string): Promise<OperatorRow> {
    return requireNamed(await findOperatorRow(on, guards, { name_key: nameKeyOf(name) }), name);
  }

  async function countByOperator(
    table: 'console_passkey' | 'console_session',
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await db
      .selectFrom(table)
      .select(({ fn }) => ['operator_id', fn.countAll().as('count')])
      .groupBy('operator_id')
      .execute();
    return new Map(rows.map((row) => [row.operator_id, Number(row.count)]));
  }

  async function change(
    action: string,
    name: string,
    decide: (row: OperatorRow) => {
      readonly values: Partial<OperatorRow>;
      readonly objects?: Readonly<Record<string, string>>;
    },
    then?: (tx: Tx, id: string) => Promise<void>,
  ): Promise<Operator> {
    return storage.transaction(async (tx: Tx) => {
      const { mac: _old, ...row } = requireNamed(
        await lockOperatorRow(tx, { storage, guards }, { name_key: nameKeyOf(name) }),
        name,
      );
      const { values, objects } = decide({ ...row, mac: null });
      const changed = guards.operators.withMac({ ...row, ...values, updated_at: clock.now().getTime() });
      await tx.updateTable('console_operator').set(changed).where('id', '=', row.id).execute();
      await then?.(tx, row.id);
      await audit.recordIn(tx, {
        action,
        actor: 'operator',
        outcome: 'ok',
        objects: { operator: row.name, ...objects },
      });
      return toOperator(changed);
    });
  }

  return {
    async create(name, role, organizationId) {
      requireOperatorName(name);
      requireRoleOf(role, organizationId ?? null);
      const created = storage.transaction(async (tx: Tx) => {
        if (organizationId !== undefined) await ownership.lockIn(tx, organizationId);
        const like = await findOperatorRow(tx, guards, { name_key: nameKeyOf(name) });
        if (like !== undefined) throw nameTaken(name, like.name);
        const nowMs = clock.now().getTime();
        const row = guards.operators.withMac({
          id: randomUUID(),
          name,
          name_key: nameKeyOf(name),
          role,
          organization_id: organizationId ?? null,
          subject: null,
          disabled_at: null,
          created_at: nowMs,
          updated_at: nowMs,
        });
        await tx.insertInto('console_operator').values(row).execute();
        const objects = { operator: name, role, ...organizationObject(row.organization_id) };
        await audit.recordIn(tx, { action: 'operator.create', actor: 'operator', outcome: 'ok', objects });
        return toOperator(row);
      });
      // Another node may be creating it at this moment.
      return created.catch((error: unknown) => {
        throw errorCode(error) === 'PLATFORM_STORAGE_DUPLICATE' ? nameTaken(name, name) : error;
      });
    },
    async list() {
      const rows = await db.selectFrom('console_operator').selectAll().orderBy('name_key').execute();
      const [passkeys, sessions] = await Promise.all([
        countByOperator('console_passkey'),
        countByOperator('console_session'),
      ]);
      return (await guards.operators.checkAll(rows)).map((row) => ({
        ...toOperator(row),
        passkeys: passkeys.get(row.id) ?? 0,
        sessions: sessions.get(row.id) ?? 0,
      }));
    },
    async find(name) {
      const row = await findOperatorRow(db, guards, { name_key: nameKeyOf(name) });
      return row !== undefined && meansName(name, row.name) ? toOperator(row) : undefined;
    },
    get: async (name) => toOperator(await requireRow(db, name)),
    setRole: (name, role) =>
      change('operator.role', name, (row) => {
        if (row.subject !== null)
          throw new OperatorsError('OPERATORS_EXTERNAL', `The OpenID provider decides the role of ${name}.`);
        requireRoleOf(role, row.organization_id);
        return { values: { role }, objects: { from: row.role, to: role } };
      }),
    disable: (name) =>
      change(
        'operator.disable',
        name,
        () => ({ values: { disabled_at: clock.now().getTime() } }),
        async (tx, id) => {
          for (const table of ['console_session', 'console_token', 'console_link'] as const)
            await tx.deleteFrom(table).where('operator_id', '=', id).execute();
        },
      ),
    enable: (name) => change('operator.enable', name, () => ({ values: { disabled_at: null } })),
  };
}

/** For the audit trail: the organization of a delegated operator. */
export function organizationObject(organizationId: string | null): Record<string, string> {
  return organizationId === null ? {} : { organization: organizationId };
}

/** Not one whose name only looks like it. */
function requireNamed(row: OperatorRow | undefined, name: string): OperatorRow {
  if (row !== undefined && meansName(name, row.name)) return row;
  throw new OperatorsError('OPERATORS_UNKNOWN', `Unknown operator: ${name}.`);
}

function nameTaken(name: string, like: string): OperatorsError {
  const text = meansName(name, like)
    ? `The operator ${like} already exists.`
    : `The name ${name} looks like that of the operator ${like}. Choose another one.`;
  return new OperatorsError('OPERATORS_NAME_TAKEN', text);
}
