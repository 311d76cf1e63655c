/**
 * Hosted addresses many at a time: a table of addresses with their directory entries, checked row by row and
 * stored with what `openhisp address add` stores for one; and the file of them for the aggregated directory.
 * Used by the command line and the console, and by the REST API for an organization's own clients.
 */
export { closeOrganization, reopenOrganization, type ClosingDependencies } from './close-organization.ts';
export { disableDomain, removeDomain } from './remove-domain.ts';
export { contributeAddresses, type ContributionRow } from './contribute.ts';
export { importAddresses } from './import-addresses.ts';
export {
  createProvisioning,
  maxProvisionedAtOnce,
  type LimitedRequests,
  type ProvisionedAddress,
  type Provisioning,
  type ProvisioningCaller,
} from './provision-addresses.ts';
