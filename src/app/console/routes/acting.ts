import { LRUCache } from 'lru-cache';
import type { FastifyRequest } from 'fastify';
import type { Audit } from '../../../service/audit/index.ts';
import type { MessagingOperator } from '../../../service/messaging/index.ts';
import type { DirectoryOperator } from '../../../service/directory/index.ts';
import type { EdgeAccountStore } from '../../../service/edges/index.ts';
import { createOrganizations, type Organizations } from '../../../service/organizations/index.ts';
import type { ClientStore } from '../../../service/oauth/index.ts';
import type { Trust } from '../../../service/trust/index.ts';
import type { WebhookOperator } from '../../../service/webhook/index.ts';
import { callerOf } from '../guard.ts';
import type { ConsoleServices } from '../types.ts';

/** The services on behalf of one operator. */
export interface ActingServices {
  readonly audit: Audit;
  readonly messaging: MessagingOperator;
  readonly webhooks: WebhookOperator;
  readonly clients: ClientStore;
  readonly edgeAccounts: EdgeAccountStore;
  readonly trust: Trust;
  readonly organizations: Organizations;
  readonly directory: DirectoryOperator;
}

/** Operators whose services are cached. */
const maxOperators = 200;

/** Gives the services that act, and are audited, on behalf of the caller. */
export type Acting = (request: Pick<FastifyRequest, 'operator' | 'owned'>) => ActingServices;

export function createActing(services: ConsoleServices): Acting {
  const organizations = createOrganizations(services);
  const known = new LRUCache<string, ActingServices>({ max: maxOperators });
  return ({ operator: { actor }, owned }) => {
    const found = known.get(actor) ?? open(actor);
    return { ...found, messaging: found.messaging.within(owned) };
  };

  function open(actor: string): ActingServices {
    const acting: ActingServices = {
      audit: services.audit.as(actor),
      messaging: services.messaging.as(actor),
      webhooks: services.webhooks.as(actor),
      clients: services.oauth.as(actor),
      edgeAccounts: services.edges.as(actor),
      directory: services.directory.as(actor),
      trust: services.trust.as(actor),
      organizations: organizations.as(actor),
    };
    known.set(actor, acting);
    return acting;
  }
}

/** Where a request came from, for the audit trail. */
export function originOf({ requestId, ip }: { readonly requestId: string; readonly ip: string }) {
  return { requestId, remoteAddress: ip };
}

/** True for a refresh by an open page. A bearer token has no page: whatever it sends, it views. */
export const isRefresh = (request: FastifyRequest): boolean =>
  request.headers['x-background'] !== undefined && callerOf(request).sessionId !== undefined;
