import { inboundPayload } from '../messaging/schemas.ts';
import { notification } from '../messaging/webhook-schemas.ts';
import type { Json, JsonObject } from './name-schemas.ts';

const header = (name: string, description: string, example: string): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

/** Of Standard Webhooks (HOOK-01). */
const signatureHeaders: readonly JsonObject[] = [
  header(
    'webhook-id',
    'The id of the event, the same in every attempt: ignore events that you have already processed.',
    '0c6f3a52-4d0e-4d7f-8c3b-0a5e8f7b9d11',
  ),
  header(
    'webhook-timestamp',
    'Time of the attempt in seconds since 1970. Refuse a notification that is older than five minutes.',
    '1795334400',
  ),
  header(
    'webhook-signature',
    'One signature per secret, separated by blanks: `v1,` and the base64 HMAC-SHA-256 of `id.timestamp.body`. The key is the decoded base64 after `whsec_`.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

const answers: JsonObject = {
  '2XX': { description: 'Accepted. For an inbound webhook this acknowledges the message.' },
  '410': { description: 'Gone: the webhook is disabled.' },
  '4XX': { description: 'Any other status: the notification is retried for about one day.' },
  '5XX': { description: 'The notification is retried for about one day.' },
};

/** The payloads posted to the webhooks of clients. */
export function describeWebhooks(): JsonObject {
  return {
    status: post({
      operationId: 'onStatus',
      summary: "A recipient's status has changed, or a message was received",
      description:
        'Sent to webhooks of the kind `status`: addresses, ids and status, no patient data. Delivered at least once, in any order. Answer within 15 seconds.',
      schema: toJson(notification),
    }),
    inbound: post({
      operationId: 'onInboundMessage',
      summary: 'A complete received message',
      description:
        'Sent to webhooks of the kind `inbound`. A 2xx answer acknowledges the message. Answer within 15 seconds.',
      schema: toJson(inboundPayload),
    }),
  };
}

interface Post {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: JsonObject;
}

function post({ schema, ...operation }: Post): JsonObject {
  // As in the document's other bodies, the example stands next to the schema.
  const { examples, ...rest } = schema;
  const example = Array.isArray(examples) ? { example: (examples as readonly Json[])[0] ?? null } : {};
  return {
    post: {
      ...operation,
      tags: ['webhooks'],
      security: [{ webhookSignature: [] }],
      parameters: signatureHeaders,
      requestBody: { required: true, content: { 'application/json': { schema: rest, ...example } } },
      responses: answers,
    },
  };
}

// TypeBox schemas carry members that are not part of the JSON.
function toJson(schema: object): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}
