import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { SignInSource, StartedSession } from '../../service/operators/index.ts';
import type { ConsoleCookie } from './cookies.ts';
import { apiPrefix } from './guard.ts';
import type { ConsoleRoutes, ConsoleServices } from './types.ts';

/** A token and a few characters; nothing here is long. */
const maxBodyBytes = 16_384;

export interface AccessParts {
  readonly services: ConsoleServices;
  readonly sessionCookie: ConsoleCookie;
}

/** Signing in by link, the session and its end. */
export function accessRoutes({ services, sessionCookie }: AccessParts): ConsoleRoutes {
  const { operators, config, version, isSandbox } = services;

  const sourceOf = (request: FastifyRequest): SignInSource => ({
    remoteAddress: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    requestId: request.requestId,
    previousToken: sessionCookie.read(request),
  });

  function begin(reply: FastifyReply, session: StartedSession) {
    sessionCookie.set(reply, session.token, session.expiresAt);
    return { kind: 'signed-in' as const, operator: shortOf(session.operator) };
  }

  return (app) => {
    app.post(
      `${apiPrefix}/sign-in/link`,
      {
        bodyLimit: maxBodyBytes,
        config: { permission: 'public' },
        schema: {
          summary: 'Enter by a link',
          description:
            'The token of a link. A sign-in link begins a session; an enrolment link says whose passkey is to be registered.',
          body: Type.Object({ token: Type.String({ maxLength: 200 }) }, { additionalProperties: false }),
        },
      },
      async (request, reply) => {
        const answer = await operators.signIn.byLink(request.body.token, sourceOf(request));
        if (answer.kind === 'signed-in') return begin(reply, answer.session);
        return { kind: 'enrol', operator: shortOf(answer.operator), expiresAt: answer.expiresAt };
      },
    );
    app.get(`${apiPrefix}/session`, { config: { permission: 'signed-in' } }, async ({ operator }) => ({
      operator: shortOf(operator),
      permissions: operator.permissions,
      isSandbox,
      version,
      hisp: { name: config.smtp.hostname, hostname: config.smtp.hostname },
    }));
    app.delete(`${apiPrefix}/session`, { config: { permission: 'signed-in' } }, async (request, reply) => {
      const { sessionId, operator } = request;
      if (sessionId !== undefined) await operators.sessions.end(operator, sessionId, sourceOf(request));
      sessionCookie.clear(reply);
      return reply.code(204).send();
    });
    app.get(
      `${apiPrefix}/sessions`,
      { config: { permission: 'signed-in' } },
      async ({ operator, sessionId }) => ({
        result: (await operators.sessions.list(operator.id)).map((session) => ({
          ...session,
          isThis: session.id === sessionId,
        })),
        next: null,
      }),
    );
    app.delete(`${apiPrefix}/sessions`, { config: { permission: 'signed-in' } }, async (request, reply) => {
      const ended = await operators.sessions.endAll(request.operator, sourceOf(request));
      sessionCookie.clear(reply);
      return reply.send({ ended });
    });
    app.delete(
      `${apiPrefix}/sessions/:sessionId`,
      {
        config: { permission: 'signed-in' },
        schema: { params: Type.Object({ sessionId: Type.String({ maxLength: 64 }) }) },
      },
      async (request, reply) => {
        const { sessionId } = request.params;
        await operators.sessions.end(request.operator, sessionId, sourceOf(request));
        if (sessionId === request.sessionId) sessionCookie.clear(reply);
        return reply.code(204).send();
      },
    );
  };
}

const shortOf = ({ name, role }: { name: string; role: string }) => ({ name, role });
