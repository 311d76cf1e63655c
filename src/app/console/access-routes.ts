import { Type, type Static } from 'typebox';
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
import { refusals } from './routes/describe.ts';
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

  return (app) => {
    app.post(
      '/sign-in/link',
      {
        bodyLimit: maxBodyBytes,
        config: { permission: 'public' },
        schema: {
          summary: 'Sign in or begin to enroll by link',
          description:
            'The token of a link. A sign-in link starts a session; an enrollment link returns the operator whose passkey is to be registered.',
          body: linkRequest,
          response: { 200: linkAnswer },
        },
      },
      async (request, reply) => {
        const answer = await operators.signIn.byLink(request.body.token, sourceOf(request));
        if (answer.kind === 'signed-in') return begin(reply, answer.session);
        const { kind, operator, expiresAt } = answer;
        return { kind, operator: describePerson(operator), expiresAt: expiresAt.toISOString() };
      },
    );
    app.get(
      '/sign-in/methods',
      {
        config: { permission: 'public' },
        schema: { summary: 'List the ways to sign in', response: { 200: signInMethods } },
      },
      async () => {
        const { openId } = operators.signIn;
        return { passkey: true, oidc: openId === undefined ? null : { name: openId.name } };
      },
    );
    app.get(
      '/session',
      {
        config: { permission: 'signed-in' },
        schema: { summary: 'Show the signed-in operator', response: { 200: sessionSchema } },
      },
      async (request) => {
        const { operator, startedAt, idleEndsAt, endsAt } = callerOf(request);
        const domains = (await trust.listDomains()).toSorted((one, other) => one.localeCompare(other));
        return {
          operator: describePerson(operator),
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
    );
    app.delete(
      '/session',
      {
        config: { permission: 'signed-in' },
        schema: {
          summary: 'Sign out',
          response: { 204: Type.Null(), ...refusals() } as Record<number, unknown>,
        },
      },
      async (request, reply) => {
        const { sessionId, operator } = callerOf(request);
        if (sessionId !== undefined) await operators.sessions.end(operator, sessionId, sourceOf(request));
        sessionCookie.clear(reply);
        return reply.code(204).send();
      },
    );
    app.get(
      '/sessions',
      {
        config: { permission: 'signed-in' },
        schema: { summary: 'List the sessions of the operator', response: { 200: sessionList } },
      },
      async (request) => {
        const { operator, sessionId } = callerOf(request);
        const sessions = await operators.sessions.list(operator.id);
        return { result: sessions.map((one) => toAnswer(one, sessionId)) };
      },
    );
    app.delete(
      '/sessions',
      {
        config: { permission: 'signed-in' },
        schema: {
          summary: 'Sign out everywhere',
          response: { 200: Type.Object({ ended: Type.Integer() }), ...refusals() },
        },
      },
      async (request, reply) => {
        const ended = await operators.sessions.endAll(request.operator, sourceOf(request));
        sessionCookie.clear(reply);
        return reply.send({ ended });
      },
    );
    app.delete(
      '/sessions/:sessionId',
      {
        config: { permission: 'signed-in' },
        schema: {
          summary: 'End a session',
          params: Type.Object({ sessionId: Type.String({ maxLength: 64 }) }),
          response: { 204: Type.Null(), ...refusals(404) } as Record<number, unknown>,
        },
      },
      async (request, reply) => {
        const { sessionId } = request.params;
        const caller = callerOf(request);
        await operators.sessions.end(caller.operator, sessionId, sourceOf(request));
        if (sessionId === caller.sessionId) sessionCookie.clear(reply);
        return reply.code(204).send();
      },
    );
  };
}

function toAnswer(one: SessionEntry, currentId: string | undefined): Static<typeof sessionEntry> {
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
