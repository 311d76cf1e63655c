import type { FastifyRequest } from 'fastify';
import { ConsoleError } from './errors.ts';
import { apiPrefix, isApiRoute } from './guard.ts';
import type { PublicAddress } from './public-address.ts';
import type { ConsoleApp } from './types.ts';

const harmlessMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The provider answers by a redirect, which is a cross-site request. */
const arrivesFromElsewhere = `${apiPrefix}/sign-in/oidc/callback`;

/**
 * Refuses requests that a page of another site could make a browser send. Requests with a bearer token are
 * exempt: no browser adds it.
 *
 * Host must be the console's name, so that a page under another name that resolves to this server (DNS
 * rebinding) cannot read answers; requests that change something must carry the console's Origin.
 */
export function refuseForeignRequests(app: ConsoleApp, address: () => PublicAddress): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin, host } = address();
    const { headers } = request;
    const hasToken = headers.authorization !== undefined;
    if (hasToken && headers.origin === undefined) return;
    if (headers.host !== host) {
      // Someone who types the IP address is redirected to the name, which their passkeys belong to.
      if (!isApiRoute(request) && harmlessMethods.has(request.method))
        // Not cached: a browser would lead to the old name after console.publicUrl has changed.
        return reply.header('Cache-Control', 'no-store').redirect(new URL(pathOf(request), origin).href, 308);
      throw new ConsoleError('CONSOLE_HOST_REFUSED', 'the Host header names another host');
    }
    if (!isApiRoute(request) || request.routeOptions.url === arrivesFromElsewhere) return;
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw new ConsoleError('CONSOLE_ORIGIN_REFUSED', `Sec-Fetch-Site is ${String(site).slice(0, 20)}`);
    const isChange = !harmlessMethods.has(request.method);
    if (headers.origin === undefined ? isChange : headers.origin !== origin)
      throw new ConsoleError(
        'CONSOLE_ORIGIN_REFUSED',
        'the Origin header is missing or names another origin',
      );
  });
}

/** Path and query; `//other.example/` must not be resolved to another host. */
function pathOf({ url }: FastifyRequest): string {
  return `/${url.replace(/^[/\\]+/, '')}`;
}
