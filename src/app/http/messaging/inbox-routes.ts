import type { FastifyReply } from 'fastify';
import type { InboundDocument, Messaging } from '../../../service/messaging/index.ts';
import { errorResponses, jsonMediaType } from '../envelope.ts';
import type { RouteModule } from '../types.ts';
import { formatInbox } from './format-answers.ts';
import { originOf } from './request-parts.ts';
import {
  acknowledgeAnswer,
  attachmentParameters,
  inboundPayload,
  inboxAnswer,
  inboxQuery,
  messageIdParameter,
  xdmQuery,
} from './schemas.ts';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { slicesOf } from '../../../core/index.ts';

const inbox = '/messaging/dirmsg/inbox';

/** Goes before the members of a payload, of which the opening brace is cut off. */
const okStart = Buffer.from('{"status":"OK",');

/** Received messages: list, fetch, acknowledge (Decision 0014). */
export function inboxRoutes({ messaging }: { readonly messaging: Messaging }): RouteModule {
  return (app) => {
    const onRequest = app.requireScope('messaging.api');
    app.get(inbox, {
      onRequest,
      schema: {
        operationId: 'listInbox',
        summary: 'List received messages',
        description:
          'Unacknowledged messages to your addresses, oldest first, without content. Empty parameters count as absent.',
        tags: ['messaging'],
        querystring: inboxQuery,
        response: { 200: inboxAnswer, ...errorResponses(401, 403) },
      },
      handler: async (request) => formatInbox(await messaging.listInbox(request.client, request.query)),
    });
    app.get(`${inbox}/:messageId`, {
      onRequest,
      schema: {
        operationId: 'getInboxMessage',
        summary: 'Fetch a received message',
        description: 'It can be fetched repeatedly; it stays in the list until it is acknowledged.',
        tags: ['messaging'],
        params: messageIdParameter,
        querystring: xdmQuery,
        response: { 200: inboundPayload, ...errorResponses(401, 403, 404) },
      },
      handler: async (request, reply) => {
        const { messageId } = request.params;
        const payload = await messaging.readInbox(
          request.client,
          messageId,
          request.query.xdm ?? false,
          originOf(request),
          (bytes) => request.reserveAnswer(bytes),
        );
        request.reserveAnswer(payload.length);
        reply.header('Cache-Control', 'no-store').type(jsonMediaType);
        return sendBytes(reply as unknown as FastifyReply, [okStart, payload.subarray(1)]);
      },
    });
    app.get(`${inbox}/:messageId/attachments/:position`, {
      onRequest,
      schema: {
        operationId: 'getInboxAttachment',
        summary: 'Fetch the bytes of one attachment',
        description: 'Types that a browser could execute are sent as application/octet-stream.',
        tags: ['messaging'],
        params: attachmentParameters,
        querystring: xdmQuery,
        response: { 200: documentBytes, ...errorResponses(401, 403, 404) },
      },
      handler: async (request, reply) => {
        const { messageId, position } = request.params;
        const document = await messaging.readAttachment(
          request.client,
          messageId,
          position,
          request.query.xdm ?? false,
          originOf(request),
          (bytes) => request.reserveAnswer(bytes),
        );
        request.reserveAnswer(document.content.length);
        return sendDocument(reply as unknown as FastifyReply, document);
      },
    });
    app.post(`${inbox}/:messageId/ack`, {
      onRequest,
      schema: {
        operationId: 'acknowledgeInboxMessage',
        summary: 'Acknowledge a received message',
        description:
          'It leaves the list, and its sender gets the dispatched MDN if it asked for one. Acknowledging again changes nothing.',
        tags: ['messaging'],
        params: messageIdParameter,
        response: { 200: acknowledgeAnswer, ...errorResponses(401, 403, 404, 413, 415) },
      },
      handler: async (request) => {
        const at = await messaging.acknowledge(request.client, request.params.messageId, originOf(request));
        return {
          status: 'OK' as const,
          messageId: formatUrn(request.params.messageId),
          acknowledgedTime: at.toISOString(),
        };
      },
    });
  };
}

function formatUrn(messageId: string): string {
  const id = messageId.toLowerCase();
  return id.startsWith('urn:uuid:') ? id : `urn:uuid:${id}`;
}

/**
 * Media types that are safe for a browser; any other content is sent as plain bytes, so that it is never
 * executed.
 */
const harmlessTypes = new Set([
  'text/plain',
  'text/xml',
  'application/xml',
  'application/pdf',
  'application/zip',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/tiff',
]);

const documentBytes = {
  description: 'The bytes, as an attachment.',
  headers: {
    'Content-Disposition': { type: 'string', description: 'attachment, with the file name (RFC 6266).' },
  },
  content: Object.fromEntries(
    [...harmlessTypes, 'application/octet-stream'].map((type) => [
      type,
      { schema: { type: 'string', format: 'binary' } },
    ]),
  ),
};

function sendDocument(reply: FastifyReply, document: InboundDocument): FastifyReply {
  reply
    .header(
      'Content-Type',
      harmlessTypes.has(document.mediaType) ? formatType(document) : 'application/octet-stream',
    )
    .header('Content-Disposition', formatDisposition(document.fileName))
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store');
  return sendBytes(reply, [document.content]);
}

function formatType({ mediaType, charset }: InboundDocument): string {
  return charset === '' ? mediaType : `${mediaType}; charset="${charset}"`;
}

// RFC 6266 §4.3 with RFC 8187: an ASCII fallback, and the real name encoded where it differs.
function formatDisposition(fileName: string): string {
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"${plain === fileName ? '' : `; filename*=UTF-8''${encoded}`}`;
}

const smallBytes = 256 * 1024;
/** Small, so that the rate at which a slow client takes them is seen (`admission.ts`). */
const sliceBytes = 16 * 1024;

/**
 * Answers with bytes, a large body piece by piece, so that neither TLS nor a fast client holds up the event
 * loop.
 */
export function sendBytes(reply: FastifyReply, pieces: readonly Uint8Array[]): FastifyReply {
  const length = pieces.reduce((total, piece) => total + piece.length, 0);
  if (length <= smallBytes) return reply.send(Buffer.concat(pieces));
  return reply.header('Content-Length', length).send(Readable.from(sliceAll(pieces)));
}

// No turn is waited for after the last slice: the answer ends with it, and so does the request.
async function* sliceAll(pieces: readonly Uint8Array[]): AsyncGenerator<Buffer> {
  const slices = pieces.flatMap((piece) => [...slicesOf(piece, sliceBytes)]);
  for (const [index, slice] of slices.entries()) {
    if (index > 0) await nextTurn();
    yield slice;
  }
}
