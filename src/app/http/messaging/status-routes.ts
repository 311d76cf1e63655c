import type { Messaging } from '../../../service/messaging/index.ts';
import { errorResponses } from '../envelope.ts';
import type { RouteModule } from '../types.ts';
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

/** Status of sent messages, and the check of addresses before a send (Decision 0012, Decision 0009). */
export function statusRoutes({ messaging }: { readonly messaging: Messaging }): RouteModule {
  return (app) => {
    const onRequest = app.requireScope('messaging.api');
    app.get(
      '/messaging/dirmsg/status/:messageId',
      {
        onRequest,
        schema: {
          summary: 'Status of a sent message',
          description: 'Of your own messages only; anything else is 404.',
          tags: ['messaging'],
          params: messageIdParameter,
          response: { 200: statusAnswer, ...errorResponses(401, 403, 404) },
        },
      },
      async (request) =>
        ({
          status: 'OK' as const,
          ...formatStatus(await messaging.getStatus(request.client, request.params.messageId)),
        }) as never,
    );
    app.get(
      '/messaging/dirmsg/evidence/:messageId',
      {
        onRequest,
        schema: {
          summary: 'Evidence of the delivery of a sent message',
          description:
            "For whoever must prove delivery: for each recipient the history, every attempt with the SHA-256 of what was sent, and the signed notices as received. A JWS (RFC 7515, flattened JSON) signed with the key of the sender's domain, whose certificate is in `x5c`. Of your own messages only; `openhisp evidence verify FILE` checks it offline.",
          tags: ['messaging'],
          params: messageIdParameter,
          response: {
            200: { content: { 'application/jose+json': { schema: evidenceAnswer } } },
            ...errorResponses(401, 403, 404, 503),
          },
        },
      },
      async (request, reply) => {
        const evidence = await messaging.getEvidence(
          request.client,
          request.params.messageId,
          originOf(request),
        );
        return reply
          .header('content-type', 'application/jose+json')
          .header('cache-control', 'no-store')
          .send(JSON.stringify(evidence) as never);
      },
    );
    app.post(
      '/messaging/dirmsg/status',
      {
        onRequest,
        validatorCompiler: acceptAnyBody,
        schema: {
          summary: 'Status of up to 100 sent messages',
          tags: ['messaging'],
          body: statusListBody,
          response: { 200: statusListAnswer, ...errorResponses(400, 401, 403, 415) },
        },
      },
      async (request) => {
        const { reports, unknown } = await messaging.listStatus(request.client, request.body);
        return { status: 'OK' as const, result: reports.map(formatStatus), unknown: [...unknown] } as never;
      },
    );
    app.post(
      '/messaging/dirmsg/validate',
      {
        onRequest,
        validatorCompiler: acceptAnyBody,
        schema: {
          summary: 'Check addresses before sending',
          description:
            'Tells for each address whether it is well-formed, has a certificate that your domain trusts, and is listed in the directory. Sends nothing.',
          tags: ['messaging'],
          body: validateBody,
          response: { 200: validateAnswer, ...errorResponses(400, 401, 403, 415) },
        },
      },
      async (request) => ({
        status: 'OK' as const,
        result: (await messaging.checkAddresses(request.client, request.body)).map(formatCheck),
      }),
    );
  };
}
