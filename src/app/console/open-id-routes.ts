import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { errorCode, errorText } from '../../core/index.ts';
import type { ConsoleCookie } from './cookies.ts';
import { apiPrefix } from './guard.ts';
import type { PublicAddress } from './public-address.ts';
import { route } from './route.ts';
import type { SignInTools } from './sign-in-tools.ts';
import type { ConsoleRoutes, ConsoleServices } from './types.ts';

const callbackPath = `${apiPrefix}/sign-in/oidc/callback`;

export interface OpenIdParts {
  readonly services: ConsoleServices;
  readonly tools: SignInTools;
  /**
   * Lax, so that the browser sends it after the provider's redirect; it is valid for minutes and grants
   * nothing alone.
   */
  readonly stateCookie: ConsoleCookie;
  readonly address: () => PublicAddress;
}

/**
 * Signing in with an OpenID provider. The browser navigates to both addresses, so failures redirect to the
 * sign-in page, which explains their code. The session's cookie can be Strict: the last redirect leads to a
 * page of the console, whose requests carry it.
 */
export function openIdRoutes({ services, tools, stateCookie, address }: OpenIdParts): ConsoleRoutes {
  const { openId } = services.operators.signIn;

  /** Redirects to a page of the console only. */
  const redirect = (reply: FastifyReply, path: string): FastifyReply =>
    reply.redirect(new URL(ownPath(path), address().origin).href, 303);

  function fail(reply: FastifyReply, error: unknown): FastifyReply {
    services.log.warn(
      { code: errorCode(error), reason: errorText(error) },
      'a sign-in by the OpenID provider failed',
    );
    return redirect(reply, `/sign-in?problem=${errorCode(error)}`);
  }

  return (app) => {
    if (openId === undefined) return;
    route(app, 'get', '/sign-in/oidc', {
      needs: 'public',
      about: ['access', 'Go to the OpenID provider'],
      query: Type.Object({ after: Type.String({ maxLength: 1000, default: '/' }) }),
      status: 303,
      handle: async (request, reply) => {
        try {
          const redirectUri = new URL(callbackPath, address().origin).href;
          const after = ownPath(request.query.after);
          const { ceremony, url } = await openId.begin(tools.sourceOf(request), redirectUri, after);
          stateCookie.set(reply, ceremony.token, ceremony.expiresAt);
          return await reply.redirect(url, 303);
        } catch (error) {
          return fail(reply, error);
        }
      },
    });
    route(app, 'get', '/sign-in/oidc/callback', {
      needs: 'public',
      about: ['access', 'Return from the OpenID provider'],
      status: 303,
      handle: async (request, reply) => {
        const state = stateCookie.read(request);
        stateCookie.clear(reply);
        const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : '';
        const callbackUrl = new URL(`${callbackPath}${query}`, address().origin).href;
        try {
          const { session, after } = await openId.finish(callbackUrl, state, tools.sourceOf(request));
          tools.begin(reply, session);
          return redirect(reply, after);
        } catch (error) {
          return fail(reply, error);
        }
      },
    });
  };
}

/**
 * The path of a page of the console; all else becomes the first page: what a browser could resolve to another
 * origin, also once dots are removed (`/.//host`), and addresses that are no pages.
 */
function ownPath(text: string): string {
  if (!/^\/[\x21-\x7e]*$/.test(text) || text.includes('\\')) return '/';
  const { origin, pathname, search } = new URL(text, 'http://own.invalid');
  const isPage =
    origin === 'http://own.invalid' &&
    !pathname.startsWith('//') &&
    !/^\/(?:admin|assets)(?:\/|$)/.test(pathname);
  return isPage ? `${pathname}${search}` : '/';
}
