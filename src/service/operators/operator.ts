import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { OperatorsError } from './errors.ts';
import type { OperatorGuards } from './guards.ts';
import { listPermissions, type Permission, type Role } from './roles.ts';
import type { OperatorTables } from './tables.ts';

/** An operator of the console. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
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
}

export type OperatorRow = OperatorTables['console_operator'];

export function toOperator(row: OperatorRow): Operator {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    isExternal: row.subject !== null,
    disabledAt: row.disabled_at === null ? undefined : new Date(row.disabled_at),
    createdAt: new Date(row.created_at),
  };
}

export function toIdentity({ id, name, role }: OperatorRow): OperatorIdentity {
  return { id, name, role, actor: `operator:${name}`, permissions: listPermissions(role) };
}

type OperatorKey = { readonly id: string } | { readonly name_key: string };

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

/** The row of an operator who may sign in, locked; undefined for one that is unknown or disabled. */
export async function lockActiveRow(
  tx: Kysely<OperatorTables>,
  parts: Pick<OperatorParts, 'storage' | 'guards'>,
  id: string,
): Promise<OperatorRow | undefined> {
  const row = await lockOperatorRow(tx, parts, { id });
  return row?.disabled_at === null ? row : undefined;
}

/** The row of an operator who may sign in; undefined for one that is unknown or disabled. */
export async function findActiveRow(
  db: Kysely<OperatorTables>,
  guards: OperatorGuards,
  id: string,
): Promise<OperatorRow | undefined> {
  const row = await findOperatorRow(db, guards, { id });
  return row?.disabled_at === null ? row : undefined;
}

/**
 * The same format as names of the command line (`--as`), so that both are the same actor in the audit trail.
 */
const nameForm = /^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,79}$/u;

export function isOperatorName(name: string): boolean {
  return nameForm.test(name) && name === name.trim();
}

/** Throws OPERATORS_NAME_INVALID. */
export function requireOperatorName(name: string): string {
  if (isOperatorName(name)) return name;
  throw new OperatorsError(
    'OPERATORS_NAME_INVALID',
    'The name must be 1 to 80 letters, digits, blanks and . _ @ + - that begin with a letter or digit.',
  );
}

/**
 * Refuses passkeys for operators of an OpenID provider: a passkey would still work after the provider has
 * removed their access.
 */
export function signsInElsewhere(name: string): OperatorsError {
  return new OperatorsError('OPERATORS_EXTERNAL', `${name} signs in with the OpenID provider only.`);
}

export function nameKeyOf(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
