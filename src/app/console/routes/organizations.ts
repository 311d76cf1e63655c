import { countOf } from '../../../core/index.ts';
import { closeOrganization, reopenOrganization } from '../../../service/hosting/index.ts';
import { findHoldsOn } from '../../../service/legal-hold/index.ts';
import {
  createOrganizations,
  everything,
  isOwned,
  limitNames,
  operatorOrganization,
  type Organization,
  type OrganizationSettings,
} from '../../../service/organizations/index.ts';
import {
  doneAnswer,
  newOrganization,
  organizationChange,
  organizationClosing,
  organizationDetails,
  organizationEntry,
  organizationList,
  type OrganizationChange,
  type OrganizationDetails,
  type OrganizationEntry,
} from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';
import { isoOrNull, toLegalHold } from './formats.ts';

/** Routes of organizations: settings, limits, what belongs to them, closing. */
export function organizationRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  const organizations = createOrganizations(services);
  return (app) => {
    route(app, 'get', '/organizations', {
      needs: 'settings.read',
      scope: 'filtered',
      about: ['organizations', 'List organizations', "The operator's own first, then by name."],
      answer: organizationList,
      handle: async ({ owned }) => {
        const all = await organizations.list();
        const some = all.filter(({ id }) => isOwned(owned, 'organizations', id));
        const belongings = await readBelongings(services);
        return { result: some.map((one) => toEntry(one, belongings.of(one.id))) };
      },
    });
    route(app, 'get', '/organizations/:id', {
      needs: 'settings.read',
      scope: ['organization', 'id'],
      about: ['organizations', 'Show an organization', 'With its limits and what belongs to it.'],
      answer: organizationDetails,
      handle: async (request) => {
        const one = await organizations.get(request.params.id);
        const [belongings, operators, used, holds] = await Promise.all([
          readBelongings(services),
          services.operators.store.list(),
          organizations.measureLimits(one, services.trust.countActiveAddresses),
          // Who keeps mail for a court is the business of whoever runs the HISP.
          request.owned === everything ? findHoldsOn(services.storage, { organization: one.id }) : [],
        ]);
        return toDetails(one, belongings.of(one.id), {
          used,
          legalHolds: holds.map(toLegalHold),
          operators: operators
            .filter(({ organizationId = operatorOrganization }) => organizationId === one.id)
            .map(({ name, role, disabledAt }) => ({ name, role, isEnabled: disabledAt === undefined })),
        });
      },
    });
    route(app, 'post', '/organizations', {
      needs: 'settings.change',
      about: ['organizations', 'Add an organization', 'Its domains and clients are given to it next.'],
      body: newOrganization,
      answer: organizationEntry,
      status: 201,
      refuses: [409],
      handle: async (request) => {
        const { id, name, ...change } = request.body;
        const made = await acting(request).organizations.create({
          ...toSettings(change),
          name,
          ...(id !== undefined && { id }),
        });
        return toEntry(made, nothing);
      },
    });
    route(app, 'patch', '/organizations/:id', {
      needs: 'settings.change',
      about: ['organizations', 'Change an organization', 'Omitted fields keep their values.'],
      body: organizationChange,
      answer: organizationEntry,
      handle: async (request) => {
        const changed = await acting(request).organizations.update(
          request.params.id,
          toSettings(request.body),
        );
        return toEntry(changed, (await readBelongings(services)).of(changed.id));
      },
    });
    route(app, 'post', '/organizations/:id/close', {
      needs: 'settings.change',
      about: [
        'organizations',
        'Close an organization',
        'Its mail is refused, its clients are disabled, its operators have no access, and its keys are retired after seven days.',
      ],
      body: organizationClosing,
      answer: doneAnswer,
      refuses: [409],
      handle: async (request) => {
        const { id } = request.params;
        const { domains, clients, unlisted } = await closeOrganization(
          closingOf(request),
          id,
          request.body.reason,
        );
        return {
          count: domains.length,
          sentence: `Closed: mail to ${countOf(domains.length, 'domain')} is refused, ${countOf(clients.length, 'client')} disabled, ${countOf(unlisted, 'address', 'addresses')} taken out of the directory.`,
        };
      },
    });
    route(app, 'post', '/organizations/:id/reopen', {
      needs: 'settings.change',
      about: [
        'organizations',
        'Open a closed organization again',
        'Its clients and the entries of the directory come back one by one.',
      ],
      answer: doneAnswer,
      handle: async (request) => {
        const keys = await reopenOrganization(closingOf(request), request.params.id);
        return {
          count: keys ?? 0,
          sentence:
            keys === undefined
              ? 'It was open; nothing is changed.'
              : `Open: ${countOf(keys, 'key')} stayed. Enable its clients and list its addresses again.`,
        };
      },
    });
  };

  function closingOf(request: Parameters<typeof acting>[0]) {
    const { organizations: acted, clients, trust, audit } = acting(request);
    return { ...services, audit, organizations: acted, clients, trust };
  }
}

interface Belongings {
  readonly domains: readonly string[];
  readonly addresses: number;
  readonly clients: readonly { readonly clientId: string; readonly name: string }[];
}

const nothing: Belongings = { domains: [], addresses: 0, clients: [] };

async function readBelongings({ trust, oauth }: ConsoleServices) {
  const [owners, counts, clients] = await Promise.all([
    trust.findOwners(),
    trust.countAddresses(),
    oauth.clients.list(),
  ]);
  const domainsOf = Map.groupBy([...owners.keys()].toSorted(), (domain) => owners.get(domain));
  const clientsOf = Map.groupBy(clients, ({ organizationId }) => organizationId);
  return {
    of(id: string): Belongings {
      const domains = domainsOf.get(id) ?? [];
      return {
        domains,
        addresses: domains.reduce((sum, domain) => sum + (counts.get(domain) ?? 0), 0),
        clients: (clientsOf.get(id) ?? []).map(({ clientId, name }) => ({ clientId, name })),
      };
    },
  };
}

function toEntry(
  { id, name, closedAt, closedReason }: Organization,
  { domains, addresses, clients }: Belongings,
): OrganizationEntry {
  const isOpen = closedAt === undefined;
  return {
    id,
    name,
    isOpen,
    isBuiltIn: id === operatorOrganization,
    level: isOpen ? 'ok' : 'none',
    text: isOpen ? 'Open.' : `Closed: ${closedReason}`,
    domains: domains.length,
    addresses,
    clients: clients.length,
  };
}

function toDetails(
  one: Organization,
  belongings: Belongings,
  {
    used,
    ...rest
  }: Pick<OrganizationDetails, 'operators' | 'legalHolds'> & { readonly used: Organization['limits'] },
): OrganizationDetails {
  const allOf = (limits: Organization['limits']): OrganizationDetails['limits'] =>
    Object.fromEntries(
      limitNames.map((name) => [name, limits[name] ?? null]),
    ) as OrganizationDetails['limits'];
  return {
    organization: toEntry(one, belongings),
    npi: one.npi,
    ...one.postalAddress,
    contacts: [...one.contacts],
    limits: allOf(one.limits),
    used: allOf(used),
    closedAt: isoOrNull(one.closedAt),
    closedReason: one.closedReason,
    createdAt: isoOrNull(one.createdAt),
    domains: [...belongings.domains],
    clients: [...belongings.clients],
    ...rest,
  };
}

function toSettings({ street, city, state, zip, ...settings }: OrganizationChange): OrganizationSettings {
  const parts = Object.entries({ street, city, state, zip }).filter(([, text]) => text !== undefined);
  return {
    ...settings,
    ...(parts.length > 0 && { postalAddress: Object.fromEntries(parts) }),
  } as OrganizationSettings;
}
