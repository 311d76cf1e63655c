/**
 * The routes of the admin API (`/admin/v1`), a file for each screen.
 * Used by `app/console`.
 * Begin with a small one, `queue.ts` or `webhooks.ts`; `acting.ts` gives the services on behalf of an
 * operator.
 */
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { createActing } from './acting.ts';
import { addressCheckRoutes } from './address-checks.ts';
import { addressRoutes } from './addresses.ts';
import { auditRoutes } from './audit.ts';
import { clientRoutes } from './clients.ts';
import { directoryRoutes } from './directory.ts';
import { domainRemovalRoutes } from './domain-removal.ts';
import { domainTrustRoutes } from './domain-trust.ts';
import { domainRoutes } from './domains.ts';
import { edgeAccountRoutes } from './edge-accounts.ts';
import { inboundRoutes } from './inbound.ts';
import { legalHoldRoutes } from './legal-holds.ts';
import { createLive } from './live.ts';
import { messageRoutes } from './messages.ts';
import { nowRoutes } from './now.ts';
import { nodeRoutes } from './nodes.ts';
import { organizationRoutes } from './organizations.ts';
import { playgroundRoutes } from './playground.ts';
import { queueRoutes } from './queue.ts';
import { testMessageRoutes } from './test-messages.ts';
import { usageRoutes } from './usage.ts';
import { webhookRoutes } from './webhooks.ts';

/** The routes of the screens, one file per screen. */
export function createScreenRoutes(services: ConsoleServices): readonly ConsoleRoutes[] {
  const acting = createActing(services);
  const { live, routes: liveRoutes } = createLive(services);
  return [
    liveRoutes,
    nowRoutes(services),
    messageRoutes(services, acting),
    legalHoldRoutes(acting),
    queueRoutes(services, acting),
    inboundRoutes(services, acting),
    addressCheckRoutes(services, acting),
    organizationRoutes(services, acting),
    domainRoutes(services, acting),
    domainRemovalRoutes(services, acting),
    domainTrustRoutes(services, acting),
    addressRoutes(services, acting),
    edgeAccountRoutes(services, acting),
    directoryRoutes(services, acting, live),
    webhookRoutes(services, acting),
    auditRoutes(services, acting),
    clientRoutes(services, acting),
    nodeRoutes(services),
    usageRoutes(services),
    testMessageRoutes(services),
    playgroundRoutes(services),
  ];
}
