import acceptNegotiator from '@fastify/accept-negotiator';
import type { Messaging } from '../../../service/messaging/index.ts';
import { errorResponses } from '../envelope.ts';
import type { RouteModule } from '../types.ts';
import { evidencePagePolicy, formatEvidencePage } from './evidence-page.ts';
import { formatCheck, formatStatus } from './format-answers.ts';
import { acceptAnyBody, originOf } from './request-parts.ts';
import {
  evidenceAnswer,
  messageIdParameter,
  statusAnswer,
  statusListAnswer,
  statusListBody,
  validateAnswer,
  validateBody,
} from './schemas.ts';

/** An Accept header that matches none gets the first. */
const evidenceMediaTypes = ['application/jose+json', 'text/html'] as const;

/** Status of sent messages, and the check of addresses before a send (Decision 0012, Decision 0009). */
export function statusRoutes({ messaging }: { readonly messaging: Messaging }): RouteModule {
  return (app) => {
    const onRequest = app.requireScope('messaging.api');
    app.get('/messaging/dirmsg/status/:messageId', {
      onRequest,
      schema: {
        operationId: 'getMessageStatus',
        summary: 'Status of a sent message',
        description: 'Only for your own messages; other ids get 404.',
        tags: ['messaging'],
        params: messageIdParameter,
        response: { 200: statusAnswer, ...errorResponses(401, 403, 404) },
      },
      handler: async (request) =>
        ({
          status: 'OK' as const,
          ...formatStatus(await messaging.getStatus(request.client, request.params.messageId)),
        }) as never,
    });
    app.get('/messaging/dirmsg/evidence/:messageId', {
      onRequest,
      schema: {
        operationId: 'getDeliveryEvidence',
        summary: 'Evidence of the delivery of a sent message',
        description:
          "Proof of delivery: for each recipient the history, every attempt with the SHA-256 of the bytes sent, and the signed MDNs as received. A JWS (RFC 7515, flattened JSON) signed with the key of the sender's domain, whose certificate is in `x5c`. Only for your own messages. `openhisp evidence verify FILE` checks it offline. With `Accept: text/html` a page to print.",
        tags: ['messaging'],
        params: messageIdParameter,
        response: {
          200: {
            description: 'The signed evidence, or its content as a page to print.',
            content: {
              [evidenceMediaTypes[0]]: { schema: evidenceAnswer },
              [evidenceMediaTypes[1]]: { schema: { type: 'string' } },
            },
          },
          ...errorResponses(401, 403, 404),
        },
      },
      handler: async (request, reply) => {
        const evidence = await messaging.getEvidence(
          request.client,
          request.params.messageId,
          originOf(request),
        );
        reply.header('cache-control', 'no-store').header('vary', 'Accept');
        // Media types are case-insensitive (RFC 9110 §8.3.1).
        const accept = request.headers.accept?.toLowerCase() ?? '*/*';
        return acceptNegotiator.negotiate(accept, [...evidenceMediaTypes]) === 'text/html'
          ? reply
              .header('content-security-policy', evidencePagePolicy)
              .type('text/html; charset=utf-8')
              .send(formatEvidencePage(evidence) as never)
          : reply.type(evidenceMediaTypes[0]).send(JSON.stringify(evidence) as never);
      },
    });
    app.post('/messaging/dirmsg/status', {
      onRequest,
      validatorCompiler: acceptAnyBody,
      schema: {
        operationId: 'listMessageStatuses',
        summary: 'Status of up to 100 sent messages',
        description: 'As for one message; ids that are not ids of your messages are listed in `unknown`.',
        tags: ['messaging'],
        body: statusListBody,
        response: { 200: statusListAnswer, ...errorResponses(401, 403, 413, 415) },
      },
      handler: async (request) => {
        const { found, unknown } = await messaging.listStatus(request.client, request.body);
        return { status: 'OK' as const, result: found.map(formatStatus), unknown: [...unknown] } as never;
      },
    });
    app.post('/messaging/dirmsg/validate', {
      onRequest,
      validatorCompiler: acceptAnyBody,
      schema: {
        operationId: 'validateAddresses',
        summary: 'Check addresses before sending',
        description:
          'Tells for each address whether it is well-formed, has a certificate that your domain trusts, and is listed in the directory. Sends nothing.',
        tags: ['messaging'],
        body: validateBody,
        response: { 200: validateAnswer, ...errorResponses(401, 403, 413, 415) },
      },
      handler: async (request) => ({
        status: 'OK' as const,
        result: (await messaging.checkAddresses(request.client, request.body)).map(formatCheck),
      }),
    });
  };
}
