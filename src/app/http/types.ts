import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ClientIdentity, Scope } from '../../service/oauth/index.ts';

/** The HTTP application: Fastify whose schemas are TypeBox types. */
export type HispFastify = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** A group of routes. It is registered in its own scope, so its hooks and parsers stay its own. */
export type RouteModule = (app: HispFastify) => void | Promise<void>;

/**
 * Checks the bearer token before anything else happens. Fits both `onRequest` (better: before the body is
 * read) and `preHandler`.
 */
export interface ScopeCheck {
  (request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Read by the API document. */
  readonly scope: Scope;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route only refuses: its methods are not in `Allow`. */
    readonly refusesMethods?: true;
  }
  interface FastifyInstance {
    /** A hook that lets only tokens of this scope pass and sets `request.client`. */
    requireScope(scope: Scope): ScopeCheck;
  }
  interface FastifySchema {
    /** For the API document: answers carry the RateLimit headers. */
    readonly 'x-rate-limited'?: true;
    /** For the API document: the body may be left out. */
    readonly 'x-optional-body'?: true;
  }
  interface FastifyRequest {
    /** The caller. Throws unless the route has {@link FastifyInstance.requireScope}. */
    readonly client: ClientIdentity;
    /**
     * The id of this request, from `X-Request-Id` or made here; returned, and part of error bodies and audit
     * rows.
     */
    readonly requestId: string;
    /**
     * Reserves memory for an answer of so many bytes, until the client has taken it; again when its size is
     * known better. Throws HTTP_CLIENT_BUSY or HTTP_OVERLOADED.
     */
    readonly reserveAnswer: (bytes: number) => void;
  }
}
