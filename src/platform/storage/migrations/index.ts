/** Every step of the schema, in order. An owner adds its file and one line here. */
import type { Migration } from '../migrate.ts';
import { platformMigration } from './0001-platform.ts';
import { oauthMigration } from './0002-oauth.ts';
import { auditMigration } from './0003-audit.ts';
import { directoryMigration } from './0010-directory.ts';
import { webhookMigration } from './0020-webhook.ts';
import { messageMigration } from './0021-message.ts';
import { inboxMigration } from './0022-inbox.ts';
import { trustAndDeliveryMigration } from './0030-trust-and-delivery.ts';
import { contentMigration } from './0031-content.ts';
import { directoryChangesMigration } from './0032-directory-changes.ts';
import { deliveryDestinationsMigration } from './0040-delivery-destinations.ts';
import { inboundMigration } from './0041-inbound.ts';
import { webhookLeasesMigration } from './0042-webhook-leases.ts';
import { constraintsMigration } from './0050-constraints.ts';
import { nodesMigration } from './0051-nodes.ts';
import { operatorsMigration } from './0060-operators.ts';
import { outagesMigration } from './0061-outages.ts';
import { integrityMigration } from './0070-integrity.ts';
import { directorySourcesMigration } from './0071-directory-sources.ts';
import { pathCertificatesMigration } from './0072-path-certificates.ts';
import { verificationMigration } from './0073-verification.ts';
import { consoleMigration } from './0080-console.ts';
import { consoleSearchMigration } from './0081-console-search.ts';
import { consoleViewsMigration } from './0082-console-views.ts';
import { keyRequestsMigration } from './0083-key-requests.ts';
import { directoryChangeTimesMigration } from './0084-directory-change-times.ts';
import { failedSearchMigration } from './0085-failed-search.ts';
import { passkeyNamesMigration } from './0086-passkey-names.ts';
import { incompleteRecipientsMigration } from './0087-incomplete-recipients.ts';
import { waitingSearchMigration } from './0088-waiting-search.ts';
import { directoryLookupMigration } from './0089-directory-lookup.ts';
import { loadProgressMigration } from './0090-load-progress.ts';
import { mailSourceMigration } from './0091-mail-source.ts';
import { stateIndexConditionMigration } from './0092-state-index-condition.ts';
import { inboxIndexMigration } from './0093-inbox-index.ts';
import { deadLetterIndexMigration } from './0094-dead-letter-index.ts';

export const migrations: readonly Migration[] = [
  platformMigration,
  oauthMigration,
  auditMigration,
  directoryMigration,
  webhookMigration,
  messageMigration,
  inboxMigration,
  trustAndDeliveryMigration,
  contentMigration,
  directoryChangesMigration,
  deliveryDestinationsMigration,
  inboundMigration,
  webhookLeasesMigration,
  constraintsMigration,
  nodesMigration,
  operatorsMigration,
  outagesMigration,
  integrityMigration,
  directorySourcesMigration,
  pathCertificatesMigration,
  verificationMigration,
  consoleMigration,
  consoleSearchMigration,
  consoleViewsMigration,
  keyRequestsMigration,
  directoryChangeTimesMigration,
  failedSearchMigration,
  passkeyNamesMigration,
  incompleteRecipientsMigration,
  waitingSearchMigration,
  directoryLookupMigration,
  loadProgressMigration,
  mailSourceMigration,
  stateIndexConditionMigration,
  inboxIndexMigration,
  deadLetterIndexMigration,
];
