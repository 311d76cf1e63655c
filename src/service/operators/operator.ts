import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { Ownership } from '../organizations/index.ts';
import { OperatorsError } from './errors.ts';
import type { OperatorGuards } from './guards.ts';
import { listPermissions, type Permission, type Role } from './roles.ts';
import type { OperatorTables } from './tables.ts';

/** An operator of the console. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** That the operator administers, and sees nothing else; undefined: all of this HISP. */
  readonly organizationId: string | undefined;
  /** True if an OpenID provider authenticates the operator and assigns the role. */
  readonly isExternal: boolean;
  readonly disabledAt: Date | undefined;
  readonly createdAt: Date;
}

/** One line of the list of operators. */
export interface OperatorEntry extends Operator {
  readonly passkeys: number;
  readonly sessions: number;
}

/** The acting operator, for handlers and the audit trail. */
export interface OperatorIdentity {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** As of an Operator. */
  readonly organizationId: string | undefined;
  /** `operator:NAME`, as actors are written in the audit trail. */
  readonly actor: string;
  readonly permissions: readonly Permission[];
}

/** Dependencies of this module's components. */
export interface OperatorParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly guards: OperatorGuards;
  readonly ownership: Pick<Ownership, 'find' | 'lockIn'>;
  /** Of the OpenID provider; undefined without one. */
  readonly openIdIssuer: string | undefined;
}

export type OperatorRow = OperatorTables['console_operator'];

export function toOperator(row: OperatorRow): Operator {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    organizationId: row.organization_id ?? undefined,
    isExternal: row.subject !== null,
    disabledAt: row.disabled_at === null ? undefined : new Date(row.disabled_at),
    createdAt: new Date(row.created_at),
  };
}

export function toIdentity({ id, name, role, organization_id: organization }: OperatorRow): OperatorIdentity {
  return {
    id,
    name,
    role,
    organizationId: organization ?? undefined,
    actor: `operator:${name}`,
    permissions: listPermissions(role, organization),
  };
}

type OperatorKey = { readonly id: string } | { readonly name_key: string };
type ActiveParts = Pick<OperatorParts, 'guards' | 'openIdIssuer' | 'ownership'>;

/** The row, or undefined if there is none. Throws INTEGRITY_ROW_CHANGED. */
export async function findOperatorRow(
  db: Kysely<OperatorTables>,
  guards: OperatorGuards,
  by: OperatorKey,
): Promise<OperatorRow | undefined> {
  const row = await selectOperator(db, by).executeTakeFirst();
  return row && guards.operators.check(row);
}

/**
 * The same, locked until the transaction ends. Every change of an operator, or of an operator's links,
 * passkeys or sessions, takes this lock first: their numbers are limited, and disabling an operator ends all
 * of them.
 */
export async function lockOperatorRow(
  tx: Kysely<OperatorTables>,
  { storage, guards }: Pick<OperatorParts, 'storage' | 'guards'>,
  by: OperatorKey,
): Promise<OperatorRow | undefined> {
  const row = await storage.forUpdate(selectOperator(tx, by)).executeTakeFirst();
  return row && guards.operators.check(row);
}

function selectOperator(db: Kysely<OperatorTables>, by: OperatorKey) {
  const all = db.selectFrom('console_operator').selectAll();
  return 'id' in by ? all.where('id', '=', by.id) : all.where('name_key', '=', by.name_key);
}

/** The row of an operator who may sign in, locked; undefined as in `findActiveRow`. */
export async function lockActiveRow(
  tx: Kysely<OperatorTables>,
  parts: ActiveParts & Pick<OperatorParts, 'storage'>,
  id: string,
): Promise<OperatorRow | undefined> {
  const row = await lockOperatorRow(tx, parts, { id });
  return row !== undefined && (await isActive(row, parts, tx)) ? row : undefined;
}

/**
 * The row of an operator who may sign in; undefined for one that is unknown or disabled, whose OpenID
 * provider is not the one that is set, or whose organization is closed.
 */
export async function findActiveRow(
  db: Kysely<OperatorTables>,
  parts: ActiveParts,
  id: string,
): Promise<OperatorRow | undefined> {
  const row = await findOperatorRow(db, parts.guards, { id });
  return row !== undefined && (await isActive(row, parts, db)) ? row : undefined;
}

async function isActive(
  { disabled_at: disabledAt, subject, organization_id: organizationId }: OperatorRow,
  { openIdIssuer, ownership }: ActiveParts,
  db: Kysely<OperatorTables>,
): Promise<boolean> {
  if (disabledAt !== null || (subject !== null && !isSubjectOf(subject, openIdIssuer))) return false;
  if (organizationId === null) return true;
  const organization = await ownership.find(organizationId, db);
  return organization !== undefined && organization.closedAt === undefined;
}

/** `subject` is a column's: issuer and subject of the provider. */
export function isSubjectOf(subject: string, issuer: string | undefined): boolean {
  return issuer !== undefined && subject.startsWith(`${issuer} `);
}

/**
 * Refuses passkeys, links and tokens for operators of an OpenID provider: they would still work after the
 * provider has removed their access.
 */
export function signsInElsewhere(name: string): OperatorsError {
  return new OperatorsError(
    'OPERATORS_EXTERNAL',
    `${name} signs in with the OpenID provider only. For a script, make an operator here: openhisp operator create NAME --role ROLE.`,
  );
}
