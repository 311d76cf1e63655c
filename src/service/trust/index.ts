/**
 * The identity and the trust anchors of this HISP: its domains and addresses, their certificates and private
 * keys (encrypted at rest), and the trust anchors of each domain and direction.
 *
 * Standards: AS-10 to AS-18, AS-84 (retired keys), TRUST-02 to TRUST-04, HOST-01 (published certificates).
 * `lib/direct` decides whether a certificate is trusted; this module only supplies the anchors.
 * Called by the agent, delivery and messaging services, the SMTP edge and the CLI.
 */
export { createTrust, type Trust } from './trust.ts';
export { requireHostedDomain, type PreparedAddresses } from './addresses.ts';
export { describeKeyWarning, expiryWarningDays, type DomainKeyDates, type KeyWarning } from './key-dates.ts';
export type { AddKeyOptions, DomainKeyPair } from './keys.ts';
export type { InstalledRenewal } from './key-renewals.ts';
export type { KeyRequest } from './key-requests.ts';
export { findProofingFault, type Proofing } from './proofing.ts';
export type { Forwarding, Route } from './forwarding.ts';
export type { Renewal } from './schedule-renewal.ts';
export { describeAnchorFaults, describeAnchorWarning, type AnchorWarning } from './anchor-dates.ts';
export type { AnchorEntry } from './anchors.ts';
export { describeUnhosted } from './describe-unhosted.ts';
export { healthOfDomain, needsOperator, type Health } from './health.ts';
export type { DomainRemoval } from './removal.ts';
export type { BundleChange, BundleStatus } from './bundles.ts';
export type { AddressStatus, AnchorDirection, TrustTables } from './tables.ts';
export { TrustError, trustErrors } from './errors.ts';
export { trustGuardedTables, trustEncryptedColumns } from './guards.ts';
