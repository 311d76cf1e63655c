import { Type, type Static } from 'typebox';
import { createOrganizations, isOwned, type Owned } from '../../service/organizations/index.ts';
import type { SessionEntry } from '../../service/operators/index.ts';
import {
  linkAnswer,
  linkRequest,
  session as sessionSchema,
  sessionList,
  signInMethods,
  type sessionEntry,
} from './contract/index.ts';
import type { ConsoleCookie } from './cookies.ts';
import { callerOf } from './guard.ts';
import { route } from './route.ts';
import { describePerson, type SignInTools } from './sign-in-tools.ts';
import type { ConsoleRoutes, ConsoleServices } from './types.ts';

/** Bytes per request body: a token and a few characters. */
const maxBodyBytes = 16_384;
const maxShownDomains = 100;

export interface AccessParts {
  readonly services: ConsoleServices;
  readonly tools: SignInTools;
  readonly sessionCookie: ConsoleCookie;
}

/** Routes for signing in by link, and for reading and ending sessions. */
export function accessRoutes({ services, tools, sessionCookie }: AccessParts): ConsoleRoutes {
  const { sourceOf, begin } = tools;
  const { operators, config, trust, version, isSandbox, apiUrl } = services;
  const organizations = createOrganizations(services);

  async function nameOrganization({ organizationId: id }: Owned) {
    return id === undefined ? null : { id, name: (await organizations.get(id)).name };
  }

  return (app) => {
    route(app, 'post', '/sign-in/link', {
      needs: 'public',
      about: [
        'access',
        'Sign in or begin to enroll by link',
        'The token of a link. A sign-in link starts a session; an enrollment link returns the operator whose passkey is to be registered.',
      ],
      body: linkRequest,
      answer: linkAnswer,
      maxBodyBytes,
      handle: async (request, reply) => {
        const answer = await operators.signIn.byLink(request.body.token, sourceOf(request));
        if (answer.kind === 'signed-in') return begin(reply, answer.session);
        const { kind, operator, expiresAt } = answer;
        return { kind, operator: describePerson(operator), expiresAt: expiresAt.toISOString() };
      },
    });
    route(app, 'get', '/sign-in/methods', {
      needs: 'public',
      about: ['access', 'List the ways to sign in'],
      answer: signInMethods,
      handle: async () => {
        const { openId } = operators.signIn;
        return { passkey: true, oidc: openId === undefined ? null : { name: openId.name } };
      },
    });
    route(app, 'get', '/session', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'Show the signed-in operator'],
      answer: sessionSchema,
      handle: async (request) => {
        const { operator, startedAt, idleEndsAt, endsAt } = callerOf(request);
        const domains = (await trust.listDomains())
          .filter((domain) => isOwned(request.owned, 'domains', domain))
          .toSorted((one, other) => one.localeCompare(other));
        return {
          operator: { ...describePerson(operator), organization: await nameOrganization(request.owned) },
          permissions: [...operator.permissions],
          isSandbox,
          version,
          hisp: { hostname: config.smtp.hostname, domains: domains.slice(0, maxShownDomains), apiUrl },
          startedAt: startedAt.toISOString(),
          idleEndsAt: idleEndsAt.toISOString(),
          endsAt: endsAt.toISOString(),
          idleMinutes: config.console.idleMinutes,
        };
      },
    });
    route(app, 'delete', '/session', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'Sign out'],
      status: 204,
      handle: async (request, reply) => {
        const { sessionId, operator } = callerOf(request);
        if (sessionId !== undefined) await operators.sessions.end(operator, sessionId, sourceOf(request));
        sessionCookie.clear(reply);
        return null;
      },
    });
    route(app, 'get', '/sessions', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'List the sessions of the operator'],
      answer: sessionList,
      handle: async (request) => {
        const { operator, sessionId } = callerOf(request);
        const sessions = await operators.sessions.list(operator.id);
        return { result: sessions.map((one) => toSessionAnswer(one, sessionId)) };
      },
    });
    route(app, 'delete', '/sessions', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'Sign out everywhere'],
      answer: Type.Object({ ended: Type.Integer() }),
      handle: async (request, reply) => {
        const ended = await operators.sessions.endAll(request.operator, sourceOf(request));
        sessionCookie.clear(reply);
        return { ended };
      },
    });
    route(app, 'delete', '/sessions/:sessionId', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'End a session'],
      status: 204,
      handle: async (request, reply) => {
        const { sessionId } = request.params;
        const caller = callerOf(request);
        await operators.sessions.end(caller.operator, sessionId, sourceOf(request));
        if (sessionId === caller.sessionId) sessionCookie.clear(reply);
        return null;
      },
    });
  };
}

export function toSessionAnswer(
  one: SessionEntry,
  currentId: string | undefined,
): Static<typeof sessionEntry> {
  return {
    id: one.id,
    isCurrent: one.id === currentId,
    method: one.method,
    startedAt: one.createdAt.toISOString(),
    lastSeenAt: one.seenAt.toISOString(),
    endsAt: one.expiresAt.toISOString(),
    remoteAddress: one.remoteAddress,
    userAgent: one.userAgent,
  };
}
