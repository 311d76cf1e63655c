import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperatorIdentity, SignInSource, StartedSession } from '../../service/operators/index.ts';
import type { SignedIn } from './contract/index.ts';
import type { ConsoleCookie } from './cookies.ts';

/** Helpers that all sign-in methods share. */
export interface SignInTools {
  sourceOf(request: FastifyRequest): SignInSource;
  /** Sets the session's cookie. Returns the answer. */
  begin(reply: FastifyReply, session: StartedSession): SignedIn;
}

export function createSignInTools(sessionCookie: ConsoleCookie): SignInTools {
  return {
    sourceOf: (request) => ({
      remoteAddress: request.ip,
      userAgent: request.headers['user-agent'] ?? '',
      requestId: request.requestId,
      previousToken: sessionCookie.read(request),
    }),
    begin(reply, session) {
      sessionCookie.set(reply, session.token, session.expiresAt);
      return { kind: 'signed-in', operator: describePerson(session.operator) };
    },
  };
}

export function describePerson({ id, name, role }: OperatorIdentity): SignedIn['operator'] {
  return { id, name, role };
}
