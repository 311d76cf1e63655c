import { OperatorsError } from './errors.ts';

/** Permissions of roles in the console and its API. */
const permissionsOfRole = {
  'help-desk': ['messages.read', 'messages.change', 'addresses.check', 'directory.read'],
  operator: [
    'messages.read',
    'messages.change',
    'legal-hold.change',
    'addresses.check',
    'directory.read',
    'directory.change',
    'settings.read',
    'settings.change',
    'audit.read',
    'operators.read',
    'operators.change',
    'playground',
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
} as const;

export type Role = keyof typeof permissionsOfRole;

/** `settings` are webhooks, domains and trust, and clients. */
export type Permission = (typeof permissionsOfRole)[Role][number];

export function listPermissions(role: Role): readonly Permission[] {
  return permissionsOfRole[role];
}

export const roles = Object.keys(permissionsOfRole) as readonly Role[];

/** Throws OPERATORS_ROLE_INVALID. Validates every role from outside. */
export function parseRole(text: string): Role {
  const role = roles.find((known) => known === text);
  if (role !== undefined) return role;
  throw new OperatorsError('OPERATORS_ROLE_INVALID', `The role must be one of ${roles.join(', ')}.`);
}
