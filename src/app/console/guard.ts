import type { FastifyRequest } from 'fastify';
import { errorCode } from '../../core/index.ts';
import {
  OperatorsError,
  type OperatorIdentity,
  type Operators,
  type Permission,
  type SignInMethod,
} from '../../service/operators/index.ts';
import { runFrom, type Audit } from '../../service/audit/index.ts';
import type { Owned } from '../../service/organizations/index.ts';
import type { ConsoleCookie } from './cookies.ts';
import { paramOf, type OwnedReader } from './owned.ts';
import type { ConsoleApp } from './types.ts';

export const apiPrefix = '/admin/v1';

/** The caller, and the end of their session. */
export interface Caller {
  readonly operator: OperatorIdentity;
  /** Undefined for a bearer token. */
  readonly sessionId: string | undefined;
  /** Undefined for a bearer token. */
  readonly method: SignInMethod | undefined;
  readonly startedAt: Date;
  readonly idleEndsAt: Date;
  readonly endsAt: Date;
}

const callers = new WeakMap<FastifyRequest, Caller>();
const ownedBy = new WeakMap<FastifyRequest, Owned>();

export interface GuardParts {
  readonly operators: Operators;
  readonly audit: Audit;
  readonly sessionCookie: ConsoleCookie;
  readonly owned: OwnedReader;
}

/**
 * Authenticates the caller by session cookie or bearer token, and checks the permission that the route names,
 * before the body is read. An API route without a permission is an error at start. A delegated operator is
 * refused by each route that does not name its scope, and is told that what another organization owns is not
 * found.
 */
export function addGuard(app: ConsoleApp, parts: GuardParts): void {
  app.decorateRequest('operator', { getter: operatorOf });
  app.decorateRequest('owned', { getter: ownedOf });
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url.startsWith(apiPrefix) && config?.permission === undefined)
      throw new TypeError(`${String(method)} ${url} names no permission`);
  });
  app.addHook('onRequest', async (request, reply) => {
    if (!isApiRoute(request)) return;
    reply.header('Cache-Control', 'no-store');
    const { permission } = request.routeOptions.config;
    if (permission === 'public') return;
    const caller = await identify(request, parts);
    callers.set(request, caller);
    if (!isAllowed(request, caller.operator)) await refuse(request, caller.operator, parts.audit);
    const owned = await parts.owned.read(caller.operator);
    ownedBy.set(request, owned);
    const { scope } = request.routeOptions.config;
    if (typeof scope === 'object')
      await parts.owned.requireOwned(owned, scope[0], paramOf(request, scope[1]));
  });
}

/** The handler's rows name the session. Not before: the events of reading the body come from elsewhere. */
export function addOrigin(app: ConsoleApp): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const session = callers.get(request)?.sessionId;
    runFrom({ channel: 'console', session, remoteAddress: request.ip }, done);
  });
}

/** Decided by the matched route, not by the URL, which can be written in many forms (`/%61dmin`). */
export function isApiRoute(request: FastifyRequest): boolean {
  return request.routeOptions.url?.startsWith(apiPrefix) === true;
}

/**
 * Throws if the caller of a running request has lost access. It does not count as activity of the session.
 */
export async function recheckCaller(request: FastifyRequest, parts: GuardParts): Promise<void> {
  const { permission } = request.routeOptions.config;
  const caller = callers.get(request);
  if (caller === undefined || permission === undefined || permission === 'public') return;
  const { operator } = await identify(request, parts, false);
  // What needs a session only is begun again by its page, with the new role.
  const { role, organizationId } = caller.operator;
  const isSame =
    operator.organizationId === organizationId && (permission !== 'signed-in' || operator.role === role);
  if (isSame && isAllowed(request, operator)) return;
  throw new OperatorsError('OPERATORS_PERMISSION_MISSING', whyRefused(request, operator));
}

async function identify(
  request: FastifyRequest,
  { operators, sessionCookie }: GuardParts,
  isActivity = isActive(request),
): Promise<Caller> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const token = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw new OperatorsError('OPERATORS_TOKEN_INVALID', 'not a bearer token');
    const { operator, entry } = await operators.tokens.find(token);
    const { createdAt: startedAt, expiresAt: endsAt } = entry;
    return { operator, sessionId: undefined, method: undefined, startedAt, idleEndsAt: endsAt, endsAt };
  }
  const token = sessionCookie.read(request);
  if (token === undefined) throw new OperatorsError('OPERATORS_SESSION_INVALID', 'no session cookie');
  return operators.sessions.find(token, { isActivity });
}

/**
 * Background requests of a page must not keep its session alive; an EventSource, which reconnects
 * automatically, cannot send a header.
 */
function isActive({ headers }: FastifyRequest): boolean {
  return headers['x-background'] === undefined && headers.accept !== 'text/event-stream';
}

function isAllowed({ routeOptions }: FastifyRequest, operator: OperatorIdentity): boolean {
  const { permission, scope } = routeOptions.config;
  if (operator.organizationId !== undefined && scope === undefined) return false;
  return permission === 'signed-in' || operator.permissions.includes(permission as Permission);
}

function whyRefused(
  { routeOptions }: FastifyRequest,
  { role, organizationId }: Pick<OperatorIdentity, 'role' | 'organizationId'>,
): string {
  const { permission, scope } = routeOptions.config;
  return organizationId !== undefined && scope === undefined
    ? 'it is for operators of the whole HISP only'
    : `the role ${role} lacks ${permission}`;
}

async function refuse(request: FastifyRequest, operator: OperatorIdentity, audit: Audit): Promise<never> {
  const { permission } = request.routeOptions.config;
  const error = new OperatorsError('OPERATORS_PERMISSION_MISSING', whyRefused(request, operator));
  await audit.recordNow({
    action: 'console.refuse',
    actor: operator.actor,
    outcome: 'refused',
    objects: {
      code: errorCode(error),
      permission: permission ?? '',
      role: operator.role,
      route: `${request.method} ${request.routeOptions.url ?? ''}`,
    },
    requestId: request.requestId,
    remoteAddress: request.ip,
  });
  throw error;
}

function ownedOf(this: FastifyRequest): Owned {
  const owned = ownedBy.get(this);
  if (owned === undefined) throw new TypeError('this route is public and has no operator');
  return owned;
}

function operatorOf(this: FastifyRequest): OperatorIdentity {
  return callerOf(this).operator;
}

/** Throws on a public route. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new TypeError('this route is public and has no operator');
  return caller;
}
