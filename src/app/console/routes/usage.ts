import { monthsBefore, readUsage, type UsageGroup } from '../../../service/messaging/index.ts';
import { createOrganizations, isOwned } from '../../../service/organizations/index.ts';
import { usage, usageQuery } from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { isoOrNull } from './formats.ts';

const usualMonths = 12;
const maxRows = 10_000;

/** Routes of the screen Usage. */
export function usageRoutes(services: ConsoleServices): ConsoleRoutes {
  const { storage, clock, oauth } = services;
  return (app) => {
    route(app, 'get', '/usage', {
      needs: 'messages.read',
      scope: 'filtered',
      about: [
        'usage',
        'Count what was sent',
        'Messages, recipients, octets and outcomes from the daily counts of the last 36 months; at most 10,000 rows.',
      ],
      query: usageQuery,
      answer: usage,
      handle: async (request) => {
        const now = clock.now();
        const { by = 'month', organization, client, domain } = request.query;
        const from = request.query.from ?? monthsBefore(now, usualMonths - 1);
        const to = request.query.to ?? monthsBefore(now, 0);
        const groups: readonly UsageGroup[] = by === 'all' ? ['month', 'client', 'domain'] : [by];
        const { owned } = request;
        const [found, clients, organizations] = await Promise.all([
          readUsage(storage, {
            from,
            to,
            by: groups,
            organizationId: organization,
            owned,
            clientId: client,
            domain,
            limit: maxRows,
          }),
          oauth.clients.list(),
          createOrganizations(services).list(),
        ]);
        const names = new Map(
          clients.flatMap(({ clientId, name }) =>
            isOwned(owned, 'clients', clientId) ? [[clientId, name]] : [],
          ),
        );
        const organizationNames = new Map(organizations.map(({ id, name }) => [id, name]));
        return {
          from,
          to,
          result: found.rows.map((row) => ({
            ...row,
            organizationName: organizationNames.get(row.organization) ?? '',
            clientName: names.get(row.clientId) ?? '',
          })),
          isCut: found.isCut,
          countedAt: isoOrNull(found.countedAt),
        };
      },
    });
  };
}
