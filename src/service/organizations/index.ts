/**
 * The organizations that this HISP serves, and whose its domains are (Decision 0033). A domain belongs to one
 * organization, and its addresses and keys with it; a client belongs to one, and its edge accounts and
 * webhooks with it; a client has addresses only in domains of its organization.
 *
 * Called by the services that own domains and clients, by the console and the command line.
 */
export {
  adviceForNearLimit,
  createOrganizations,
  describeNearLimit,
  nearShare,
  type NearLimit,
  type Organizations,
} from './create-organizations.ts';
export {
  operatorOrganization,
  limitNames,
  type Organization,
  type OrganizationLimits,
  type OrganizationSettings,
} from './organization.ts';
export { createDayLimits, type DayLimit, type DayLimits } from './day-limits.ts';
export { createStorageLimits, type StorageLimits } from './storage-limits.ts';
export { createOwnership, type Ownership } from './ownership.ts';
export {
  everything,
  isOwned,
  isOwnedAddress,
  splitOwned,
  whereOwned,
  type Owned,
  type OwnedKind,
} from './owned.ts';
export { createOrganizationsGuards, organizationsGuardedTables, type DomainGuard } from './guards.ts';
export { closedOrganization, OrganizationsError } from './errors.ts';
export type { OrganizationsTables } from './tables.ts';
