import type { FastifyRequest } from 'fastify';
import { errorCode, failureOutcome } from '../../core/index.ts';
import type { Audit } from '../../service/audit/index.ts';
import type { ClientIdentity, Oauth } from '../../service/oauth/index.ts';
import type { Admission } from './admission.ts';
import type { HttpReport } from './events.ts';
import type { HispFastify, ScopeCheck } from './types.ts';

const clients = new WeakMap<FastifyRequest, ClientIdentity>();

/** Adds `app.requireScope` and `request.client`. */
export function addScopeCheck(
  app: HispFastify,
  {
    oauth,
    audit,
    report,
    admission,
  }: {
    readonly oauth: Oauth;
    readonly audit: Audit | undefined;
    readonly report: HttpReport;
    readonly admission: Admission;
  },
): void {
  app.decorateRequest('client', { getter: clientOf });
  app.decorate('requireScope', (scope): ScopeCheck => {
    const check = async (request: FastifyRequest): Promise<void> => {
      try {
        clients.set(request, await oauth.authenticate(request.headers.authorization, scope));
      } catch (error) {
        report('accessRefused', { code: errorCode(error) }, { requestId: request.id, scope });
        await audit?.record({
          action: 'access.refuse',
          outcome: failureOutcome(error),
          objects: { code: errorCode(error), scope },
          requestId: request.requestId,
          remoteAddress: request.ip,
        });
        throw error;
      }
      admission.admitClient(request, request.client.clientId);
    };
    return Object.assign(check, { scope });
  });
}

/** The caller of a request, if it has been checked. */
export function findClient(request: FastifyRequest): ClientIdentity | undefined {
  return clients.get(request);
}

function clientOf(this: FastifyRequest): ClientIdentity {
  const client = clients.get(this);
  if (client === undefined) throw new TypeError('this route has no scope check');
  return client;
}
