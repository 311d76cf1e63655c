import { OperatorsError } from './errors.ts';

/** Permissions of roles in the console and its API. */
const permissionsOfRole = {
  'help-desk': ['messages.read', 'messages.change', 'addresses.check', 'directory.read'],
  operator: [
    'messages.read',
    'messages.change',
    'messages.send',
    'legal-hold.change',
    'addresses.check',
    'directory.read',
    'directory.change',
    'settings.read',
    'settings.change',
    'audit.read',
    'operators.read',
    'operators.change',
  ],
  auditor: [
    'messages.read',
    'addresses.check',
    'directory.read',
    'settings.read',
    'audit.read',
    'audit.export',
    'operators.read',
  ],
  administrator: ['messages.read', 'messages.change', 'settings.read', 'settings.change', 'audit.read'],
} as const;

export type Role = keyof typeof permissionsOfRole;

/** `settings` are webhooks, domains and trust, and clients. */
export type Permission = (typeof permissionsOfRole)[Role][number];

/**
 * What a delegated operator may have at most. The rest is not of one organization: the directory, checks of
 * any address, legal holds.
 */
const delegable: ReadonlySet<Permission> = new Set([...permissionsOfRole.administrator, 'audit.export']);

/** Inside an organization; null: for all of this HISP. A role that is not of the place has none. */
export function listPermissions(role: Role, organizationId: string | null): readonly Permission[] {
  if (!isRoleOf(role, organizationId)) return [];
  const all = permissionsOfRole[role];
  return organizationId === null ? all : all.filter((permission) => delegable.has(permission));
}

export const roles = Object.keys(permissionsOfRole) as readonly Role[];

/** An operator works for the whole HISP, an administrator for one organization. */
function isRoleOf(role: Role, organizationId: string | null): boolean {
  return role !== (organizationId === null ? 'administrator' : 'operator');
}

/** Throws OPERATORS_ROLE_INVALID for a role that there is not inside, or outside, an organization. */
export function requireRoleOf(role: Role, organizationId: string | null): void {
  if (isRoleOf(role, organizationId)) return;
  const some = roles.filter((one) => isRoleOf(one, organizationId)).join(', ');
  const text =
    organizationId === null
      ? `The role ${role} is one inside an organization; without --organization it must be one of ${some}.`
      : `The role ${role} is for the whole HISP; inside an organization it must be one of ${some}.`;
  throw new OperatorsError('OPERATORS_ROLE_INVALID', text);
}

/** Throws OPERATORS_ROLE_INVALID. Validates every role from outside. */
export function parseRole(text: string): Role {
  const role = roles.find((known) => known === text);
  if (role !== undefined) return role;
  throw new OperatorsError('OPERATORS_ROLE_INVALID', `The role must be one of ${roles.join(', ')}.`);
}
