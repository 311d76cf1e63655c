import type { FastifyRequest } from 'fastify';
import { CodedError } from '../../core/index.ts';
import {
  createOrganizationsGuards,
  createOwnership,
  everything,
  isOwned,
  isOwnedAddress,
  type Owned,
} from '../../service/organizations/index.ts';
import type { OperatorIdentity } from '../../service/operators/index.ts';
import { ConsoleError } from './errors.ts';
import type { ConsoleServices, OwnedThing } from './types.ts';

export type OwnedServices = Pick<
  ConsoleServices,
  'storage' | 'vault' | 'audit' | 'oauth' | 'edges' | 'webhooks'
>;

export interface OwnedReader {
  /** As stored now: a domain that was moved away is another organization's from the next request on. */
  read(operator: OperatorIdentity): Promise<Owned>;
  /**
   * Refuses what is not of the operator's organization as what there is not. Throws CONSOLE_NOT_FOUND.
   */
  requireOwned(owned: Owned, kind: OwnedThing, name: string): Promise<void>;
}

export function createOwnedReader(services: OwnedServices): OwnedReader {
  const { storage, oauth } = services;
  const ownership = createOwnership({ storage, guards: createOrganizationsGuards(services) });

  /** The client that a thing belongs to; undefined if it is not found. */
  async function findClient(kind: 'edge-account' | 'webhook', id: string): Promise<string | undefined> {
    try {
      return kind === 'webhook'
        ? await services.webhooks.findClient(id)
        : (await services.edges.accounts.get(id)).clientId;
    } catch (error) {
      if (error instanceof CodedError && error.kind === 'not-found') return undefined;
      throw error;
    }
  }

  async function isOwnedThing(owned: Owned, kind: OwnedThing, name: string): Promise<boolean> {
    switch (kind) {
      case 'organization': {
        return isOwned(owned, 'organizations', name);
      }
      case 'domain': {
        return isOwned(owned, 'domains', name.toLowerCase());
      }
      case 'address': {
        return isOwnedAddress(owned, name.trim());
      }
      case 'client': {
        return isOwned(owned, 'clients', name);
      }
      default: {
        const client = await findClient(kind, name);
        return client !== undefined && isOwned(owned, 'clients', client);
      }
    }
  }

  return {
    async read({ organizationId }) {
      if (organizationId === undefined) return everything;
      const [domains, clients] = await Promise.all([
        ownership.listDomains(organizationId),
        oauth.clients.listIds(organizationId),
      ]);
      const organizations = new Set([organizationId]);
      return { organizationId, organizations, domains: new Set(domains), clients: new Set(clients) };
    },
    async requireOwned(owned, kind, name) {
      if (owned.organizationId === undefined || (await isOwnedThing(owned, kind, name))) return;
      throw new ConsoleError('CONSOLE_NOT_FOUND', `no ${kind} of this organization has that name`);
    },
  };
}

/** The value of the parameter of a route's path. */
export function paramOf({ params }: FastifyRequest, name: string): string {
  const value = (params as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}
