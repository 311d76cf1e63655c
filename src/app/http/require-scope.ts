import type { FastifyRequest } from 'fastify';
import { errorCode, failureOutcome } from '../../core/index.ts';
import type { Audit } from '../../service/audit/index.ts';
import type { ClientIdentity, Oauth, Scope } from '../../service/oauth/index.ts';
import type { Admission } from './admission.ts';
import type { HttpEmit } from './events.ts';
import type { HispFastify, ScopeCheck } from './types.ts';

/** A caller that was checked, by which scope, and when: a reading of `performance.now()`. */
interface CheckedCaller {
  readonly identity: ClientIdentity;
  readonly scope: Scope;
  readonly atMs: number;
}

/** A body that took longer than this to arrive has its token checked once more. */
const recheckAfterMs = 1000;

const callers = new WeakMap<FastifyRequest, CheckedCaller>();

/** Adds `app.requireScope` and `request.client`. */
export function addScopeCheck(
  app: HispFastify,
  {
    oauth,
    audit,
    emit,
    admission,
  }: {
    readonly oauth: Oauth;
    readonly audit: Audit | undefined;
    readonly emit: HttpEmit;
    readonly admission: Admission;
  },
): void {
  app.decorateRequest('client', { getter: clientOf });

  async function checkCaller(request: FastifyRequest, scope: Scope): Promise<void> {
    try {
      const identity = await oauth.authenticate(request.headers.authorization, scope);
      callers.set(request, { identity, scope, atMs: performance.now() });
    } catch (error) {
      emit('accessRefused', { code: errorCode(error) }, { requestId: request.id, scope });
      await audit?.record({
        action: 'access.refuse',
        outcome: failureOutcome(error),
        objects: { code: errorCode(error), scope },
        requestId: request.requestId,
        remoteAddress: request.ip,
      });
      throw error;
    }
  }

  app.decorate('requireScope', (scope): ScopeCheck => {
    const check = async (request: FastifyRequest): Promise<void> => {
      await checkCaller(request, scope);
      admission.admitClient(request, request.client.clientId);
    };
    return Object.assign(check, { scope });
  });
  // A body may take hours to arrive: meanwhile the token may expire or be revoked, and the client may lose an
  // address.
  app.addHook('preValidation', async (request) => {
    const caller = callers.get(request);
    if (caller !== undefined && performance.now() - caller.atMs > recheckAfterMs)
      await checkCaller(request, caller.scope);
  });
}

/** The caller of a request, if it has been checked. */
export function findClient(request: FastifyRequest): ClientIdentity | undefined {
  return callers.get(request)?.identity;
}

function clientOf(this: FastifyRequest): ClientIdentity {
  const client = findClient(this);
  if (client === undefined) throw new TypeError('this route has no scope check');
  return client;
}
