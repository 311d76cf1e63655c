import type { FastifyRequest } from 'fastify';
import { ConsoleError } from './errors.ts';
import { apiPrefix, isApiRoute } from './guard.ts';
import type { PublicAddress } from './public-address.ts';
import type { ConsoleApp } from './types.ts';

const harmlessMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The provider's answer comes by a redirect from its own pages. */
const arrivesFromElsewhere = `${apiPrefix}/sign-in/oidc/callback`;

/**
 * Refuses what another site's page could make a browser send. A bearer token is proof enough of who sends: no browser adds it by itself.
 *
 * The name in Host must be the console's, so that no other name that leads here (DNS rebinding) can read answers; requests that change
 * something must carry the console's Origin.
 */
export function refuseForeignRequests(app: ConsoleApp, address: () => PublicAddress): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin, host } = address();
    const { headers } = request;
    const hasToken = headers.authorization !== undefined;
    if (hasToken && headers.origin === undefined) return;
    if (headers.host !== host) {
      // People type the IP address; the name is where their passkeys are.
      if (!isApiRoute(request) && harmlessMethods.has(request.method))
        return reply.redirect(new URL(pathOf(request), origin).href, 308);
      throw new ConsoleError('CONSOLE_HOST_REFUSED', 'the Host header names another host');
    }
    if (!isApiRoute(request) || request.routeOptions.url === arrivesFromElsewhere) return;
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw new ConsoleError('CONSOLE_ORIGIN_REFUSED', `Sec-Fetch-Site is ${String(site).slice(0, 20)}`);
    const isChange = !harmlessMethods.has(request.method);
    if (headers.origin === undefined ? isChange : headers.origin !== origin)
      throw new ConsoleError('CONSOLE_ORIGIN_REFUSED', 'the Origin header is missing or another one');
  });
}

/** Path and query, as a path: `//other.example/` must not become another host. */
function pathOf({ url }: FastifyRequest): string {
  return `/${url.replace(/^[/\\]+/, '')}`;
}
