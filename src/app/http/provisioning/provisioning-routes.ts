import type { FastifyReply, FastifyRequest } from 'fastify';
import type {
  LimitedRequests,
  ProvisionedAddress,
  Provisioning,
  ProvisioningCaller,
} from '../../../service/hosting/index.ts';
import { acceptJson } from '../messaging/read-body.ts';
import { errorResponses } from '../envelope.ts';
import { setRateLimitHeaders } from '../rate-limit-headers.ts';
import type { RouteModule } from '../types.ts';
import {
  addressChangeAnswer,
  addressChangeBody,
  addressChangesAnswer,
  addressChangesBody,
  addressListAnswer,
  addressListQuery,
  addressParameter,
  forwardingBody,
  organizationAnswer,
  shownAddressAnswer,
} from './schemas.ts';

export interface ProvisioningRoutesOptions {
  readonly provisioning: Provisioning;
}

const base = '/provisioning/addresses';
const tags = ['provisioning'];
const ok = { status: 'OK' as const };

/** An organization's own clients keep its addresses (Decision 0037). */
export function provisioningRoutes({ provisioning }: ProvisioningRoutesOptions): RouteModule {
  return (app) => {
    const onRequest = app.requireScope('provisioning');
    acceptJson(app, { keepsLarge: false });
    const limit = (
      request: Parameters<typeof callerOf>[0],
      reply: FastifyReply,
      what: LimitedRequests,
    ): ProvisioningCaller => {
      const caller = callerOf(request);
      provisioning.limit(caller, what, (rateLimit) => setRateLimitHeaders(reply, rateLimit));
      return caller;
    };

    app.get('/provisioning/organization', {
      onRequest,
      schema: {
        operationId: 'getOrganization',
        'x-rate-limited': true,
        summary: 'Show your organization',
        description: 'Its domains, and how many active addresses it has and may have.',
        tags,
        response: { 200: organizationAnswer, ...errorResponses(401, 403, 404) },
      },
      handler: async (request, reply) => {
        const caller = limit(request, reply as unknown as FastifyReply, 'counts');
        const { domains, limits, ...rest } = await provisioning.findOrganization(caller);
        return { ...ok, organization: { ...rest, domains: [...domains], limits } };
      },
    });
    app.get(base, {
      onRequest,
      schema: {
        operationId: 'listAddresses',
        summary: 'List the addresses of your organization',
        description: 'In the order of their names, with what the directory shows and the record of proofing.',
        tags,
        querystring: addressListQuery,
        response: { 200: addressListAnswer, ...errorResponses(401, 403) },
      },
      handler: async (request) => {
        const { addresses, nextCursor } = await provisioning.list(callerOf(request), request.query);
        return {
          ...ok,
          result: addresses.map(formatAddress),
          ...(nextCursor === undefined ? {} : { nextCursor }),
        };
      },
    });
    app.get(`${base}/:directAddress`, {
      onRequest,
      schema: {
        operationId: 'getAddress',
        summary: 'Show an address',
        description: 'One of your organization; any other is not found.',
        tags,
        params: addressParameter,
        response: { 200: shownAddressAnswer, ...errorResponses(401, 403, 404) },
      },
      handler: async (request) => ({
        ...ok,
        address: formatAddress(await provisioning.get(callerOf(request), request.params.directAddress)),
      }),
    });
    app.put(`${base}/:directAddress`, {
      onRequest,
      schema: {
        operationId: 'putAddress',
        'x-rate-limited': true,
        summary: 'Create, change or disable an address',
        description:
          'In a domain of your organization. What is left out stays as it is, so the same request again changes nothing. Disable an address with `{"status": "disabled"}`; its mail and its record of proofing are kept.',
        tags,
        params: addressParameter,
        body: addressChangeBody,
        response: {
          200: addressChangeAnswer,
          201: addressChangeAnswer,
          ...errorResponses(401, 403, 404, 409, 413, 415),
        },
      },
      handler: async (request, reply) => {
        const caller = limit(request, reply as unknown as FastifyReply, 'changes');
        const { directAddress } = request.params;
        const { outcome, warnings } = await provisioning.put(caller, directAddress, request.body);
        const address = formatAddress(await provisioning.get(caller, directAddress));
        return reply
          .code(outcome === 'added' ? 201 : 200)
          .send({ ...ok, outcome, warnings: [...warnings], address });
      },
    });
    const forwardingRefusals = errorResponses(401, 403, 404, 409, 413, 415);
    app.put(`${base}/:directAddress/forwarding`, {
      onRequest: app.requireScope('forwarding'),
      schema: {
        operationId: 'putForwarding',
        'x-rate-limited': true,
        summary: 'Deliver mail of an address to others of your organization',
        description:
          'For a shared address, for forwarding, or for an absence between `from` and `until`. New mail is delivered to all of `deliverTo`, and to the address itself if it keeps a copy or if nobody else can get it. The address that it was sent to answers with its MDNs: processed at once, and dispatched when the first of them has acknowledged it. Mail that is there already stays where it is. Whoever may do this can read any mail of the organization that comes from then on, so it needs a separate scope, `forwarding`.',
        tags,
        params: addressParameter,
        body: forwardingBody,
        response: { 200: shownAddressAnswer, ...forwardingRefusals },
      },
      handler: async (request, reply) => {
        const caller = limit(request, reply as unknown as FastifyReply, 'changes');
        const { directAddress } = request.params;
        return {
          ...ok,
          address: formatAddress(await provisioning.putForwarding(caller, directAddress, request.body)),
        };
      },
    });
    app.delete(`${base}/:directAddress/forwarding`, {
      onRequest: app.requireScope('forwarding'),
      schema: {
        operationId: 'deleteForwarding',
        'x-rate-limited': true,
        summary: 'End the forwarding of an address',
        description: 'New mail is delivered to the address alone again.',
        tags,
        params: addressParameter,
        response: { 200: shownAddressAnswer, ...forwardingRefusals },
      },
      handler: async (request, reply) => {
        const caller = limit(request, reply as unknown as FastifyReply, 'changes');
        const { directAddress } = request.params as { directAddress: string };
        return {
          ...ok,
          address: formatAddress(await provisioning.putForwarding(caller, directAddress, null)),
        };
      },
    });
    app.post(base, {
      onRequest,
      schema: {
        operationId: 'putAddresses',
        'x-rate-limited': true,
        summary: 'Create, change or disable many addresses',
        description:
          'Each as by its own PUT, in one transaction, with a result for each. If one is refused, none is changed and the answer is a refusal that names the fields (`addresses[n]…`); with `rowByRow` the others are changed. Send it again after a lost answer: what is stored already is `unchanged`.',
        tags,
        body: addressChangesBody,
        response: { 200: addressChangesAnswer, ...errorResponses(401, 403, 409, 413, 415) },
      },
      handler: async (request, reply) => {
        const caller = limit(request, reply as unknown as FastifyReply, 'changes');
        const { addresses, rowByRow = false, dryRun = false } = request.body;
        const { rows, isStored } = await provisioning.putAll(caller, addresses, {
          isRowByRow: rowByRow,
          isDryRun: dryRun,
        });
        return {
          ...ok,
          stored: isStored,
          result: rows.map(({ directAddress, outcome, warnings, problems }) => ({
            directAddress,
            outcome,
            warnings: [...warnings],
            errors: [...problems],
          })),
        };
      },
    });
  };
}

function callerOf({
  client,
  requestId,
  ip,
}: Pick<FastifyRequest, 'client' | 'requestId' | 'ip'>): ProvisioningCaller {
  const { clientId, organizationId } = client;
  return { clientId, organizationId, requestId, remoteAddress: ip };
}

const formatAddress = ({ directory, proofing, forwarding, ...rest }: ProvisionedAddress) => ({
  ...rest,
  directory: directory === null ? null : { ...directory },
  proofing: proofing === null ? null : { ...proofing },
  forwarding:
    forwarding === null
      ? null
      : {
          deliverTo: [...forwarding.deliverTo],
          keepsCopy: forwarding.keepsCopy,
          ...(forwarding.from !== undefined && { from: forwarding.from.toISOString() }),
          ...(forwarding.until !== undefined && { until: forwarding.until.toISOString() }),
        },
});
