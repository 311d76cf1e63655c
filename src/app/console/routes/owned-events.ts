import { operatorName } from '../../../core/index.ts';
import { isOwned, isOwnedAddress, type Owned, type OwnedKind } from '../../../service/organizations/index.ts';
import type { AuditRecord } from '../../../service/audit/index.ts';

type Decision = readonly [name: string, kind: OwnedKind | 'address' | 'addresses' | 'owner'];

const byAddress: readonly Decision[] = [['address', 'address']];
const byRecipients: readonly Decision[] = [['to', 'addresses']];
// Of messages that were accepted here. The domain in their ids is what their clients wrote.
const bySender: readonly Decision[] = [['from', 'address']];
const byClient: readonly Decision[] = [['clientId', 'clients']];
const byOwner: readonly Decision[] = [['owner', 'owner']];
const byDomainHere: readonly Decision[] = [
  ['domain', 'domains'],
  ['organization', 'organizations'],
];
const byOrganization: readonly Decision[] = [['organization', 'organizations']];

/**
 * The objects by which an organization is shown a row, all of which must be its own. An action that is not
 * here is not shown, unless a client of the organization did it.
 */
const decisions: Readonly<Record<string, readonly Decision[]>> = {
  'address.disable': byAddress,
  'address.enable': byAddress,
  'address.forward': byAddress,
  'address.forward-end': byAddress,
  'address.proof': byAddress,
  'address.proof-remove': byAddress,
  'client.create': byClient,
  'client.disable': byClient,
  'client.enable': byClient,
  'client.revoke-secret': byClient,
  'client.rotate-secret': byClient,
  'client.update': byClient,
  'domain.add': byDomainHere,
  'edge.create': byClient,
  'edge.disable': byClient,
  'edge.enable': byClient,
  'edge.revoke-password': byClient,
  'edge.rotate-password': byClient,
  'edge.update': byClient,
  'key.add': byOwner,
  'key.request': byOwner,
  'message.dead-letter': byRecipients,
  'message.evidence': bySender,
  'message.expire': bySender,
  'message.fail': bySender,
  'message.forward': byRecipients,
  'message.receive': byRecipients,
  'message.reject': byRecipients,
  'message.retry': bySender,
  'message.sent': bySender,
  'message.undeliverable': bySender,
  'organization.close': byOrganization,
  'organization.create': byOrganization,
  'organization.reopen': byOrganization,
  'organization.update': byOrganization,
  'webhook.create': byClient,
  'webhook.disable': byClient,
  'webhook.disabled': byClient,
  'webhook.enable': byClient,
  'webhook.replay': byClient,
  'webhook.settled': byClient,
  'webhook.test': byClient,
};

/** What the organization's own operators did to nobody else: that they came and went. */
const visits: ReadonlySet<string> = new Set([
  'console.sign-in',
  'console.sign-out',
  'console.sign-out-everywhere',
]);

/**
 * A row of the audit trail as one organization sees it; undefined if it is none of its rows. Recipients of
 * others are left out, and who acted for the whole HISP is called `operator`.
 */
export function createEventView(
  owned: Owned,
  /** Names of the organization's operators. */
  operators: ReadonlySet<string>,
): (row: AuditRecord) => AuditRecord | undefined {
  return (row) => {
    const actor = row.actor ?? '';
    const isOwnClient = isOwned(owned, 'clients', actor);
    const isOwnOperator = operators.has(operatorName(actor) ?? '');
    const decisive = decisions[row.action];
    const isShown =
      isOwnClient ||
      (isOwnOperator && visits.has(row.action)) ||
      decisive?.every(([name, kind]) => owns(owned, kind, String(row.objects[name] ?? ''))) === true;
    if (!isShown) return undefined;
    const objects = Object.fromEntries(
      Object.entries(row.objects).map(([name, value]) => [
        name,
        !isOwnClient && decisive?.some(([one, kind]) => one === name && kind === 'addresses') === true
          ? ownAddresses(owned, String(value)).join(' ')
          : value,
      ]),
    );
    // Systems and peers have names that say no more than that.
    if (isOwnClient || isOwnOperator || actor === 'system' || actor === 'peer') return { ...row, objects };
    return {
      ...row,
      objects,
      actor: 'operator',
      requestId: undefined,
      remoteAddress: undefined,
      login: undefined,
      session: undefined,
      isClaimed: false,
    };
  };
}

function owns(owned: Owned, kind: Decision[1], value: string): boolean {
  switch (kind) {
    case 'address': {
      return isOwnedAddress(owned, value);
    }
    case 'addresses': {
      return ownAddresses(owned, value).length > 0;
    }
    case 'owner': {
      return value.includes('@') ? isOwnedAddress(owned, value) : isOwned(owned, 'domains', value);
    }
    default: {
      return isOwned(owned, kind, value);
    }
  }
}

const ownAddresses = (owned: Owned, text: string): string[] =>
  text.split(' ').filter((one) => isOwnedAddress(owned, one));
