import { named } from '../named.ts';
import { Type } from 'typebox';
import { recipientStates } from '../../../service/messaging/index.ts';
import { eventTypes } from '../../../service/webhook/index.ts';
import { exampleRecipient, exampleSender } from './schemas.ts';

const eventType = Type.Enum([...eventTypes], { type: 'string', title: 'EventType' });
const exampleHookId = '0b9d4a7c-52f3-4f55-9a39-6f8f4f1f7a10';
const exampleUrl = 'https://edge.example.org/hooks/direct';

const eventTypeList = Type.Array(eventType, {
  minItems: 1,
  description: `Events to be notified of: ${eventTypes.join(', ')}. All by default; an inbound webhook has message.received only.`,
});
const url = Type.String({
  description: 'HTTPS URL on a public host. Redirects are not followed.',
  examples: [exampleUrl],
});
const description = Type.String({ maxLength: 200 });
const xdm = Type.Boolean({
  description: 'For `inbound`: true to get XDM packages, false (default) to get documents.',
});
const basicAuth = Type.Object(
  {
    username: Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[^:]+$',
      description: 'Without a colon.',
    }),
    password: Type.String({ minLength: 1, maxLength: 200 }),
  },
  {
    title: 'BasicCredentials',
    additionalProperties: false,
    description:
      'Sent as HTTP Basic credentials in addition to the signature, for receivers that require them.',
  },
);

export const webhookCreateBody = Type.Object(
  {
    url,
    kind: Type.Optional(
      Type.Enum(['status', 'inbound'], {
        type: 'string',
        description:
          '`status` (default): small events without patient data. `inbound`: received messages whole; a 2xx answer acknowledges them.',
      }),
    ),
    description: Type.Optional(description),
    eventTypes: Type.Optional(eventTypeList),
    xdm: Type.Optional(xdm),
    basicAuth: Type.Optional(basicAuth),
  },
  { title: 'WebhookRegistration', additionalProperties: false, examples: [{ url: exampleUrl }] },
);

export const webhookChangeBody = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    eventTypes: Type.Optional(eventTypeList),
    xdm: Type.Optional(xdm),
    basicAuth: Type.Optional(Type.Union([basicAuth, Type.Null()])),
    enabled: Type.Optional(
      Type.Boolean({ description: 'False disables the webhook; true enables it again.' }),
    ),
  },
  { title: 'WebhookChange', additionalProperties: false, examples: [{ enabled: false }] },
);

const webhookMembers = {
  id: Type.String(),
  kind: Type.Enum(['status', 'inbound'], { type: 'string' }),
  url: Type.String(),
  description: Type.String(),
  eventTypes: Type.Array(eventType),
  xdm: Type.Boolean({ description: 'For `inbound`: true if XDM packages are sent.' }),
  enabled: Type.Boolean({
    description:
      'False if the webhook is disabled: the notifications that waited are held until it is enabled, and later events are not stored for it.',
  }),
  disabledReason: Type.String({
    description:
      'Empty, `client` (disabled by you or an operator of the service), `gone` (the target answered 410) or `failing` (all attempts failed for three days, by default).',
  }),
  basicAuth: Type.Boolean({ description: 'True if Basic credentials are stored.' }),
  failingSince: Type.Optional(
    Type.String({ format: 'date-time', description: 'Time of the first of the present failures.' }),
  ),
  createdTime: Type.String({ format: 'date-time' }),
};

const webhook = named('Webhook', webhookMembers);

const exampleWebhook = {
  id: exampleHookId,
  kind: 'status',
  url: exampleUrl,
  description: '',
  eventTypes: ['message.processed', 'message.failed'],
  xdm: false,
  enabled: true,
  disabledReason: '',
  basicAuth: false,
  createdTime: '2026-11-22T09:30:00.000Z',
};

const secret = Type.String({ description: 'Signing secret `whsec_…`; shown this once.' });

export const webhookAnswer = Type.Object(
  { status: Type.Literal('OK'), webhook },
  { title: 'WebhookAnswer', examples: [{ status: 'OK', webhook: exampleWebhook }] },
);
export const webhookCreatedAnswer = Type.Object(
  { status: Type.Literal('OK'), webhook, secret },
  {
    title: 'WebhookCreatedAnswer',
    examples: [
      {
        status: 'OK',
        webhook: exampleWebhook,
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      },
    ],
  },
);
export const webhookListAnswer = Type.Object(
  { status: Type.Literal('OK'), result: Type.Array(webhook) },
  { title: 'WebhookList', examples: [{ status: 'OK', result: [exampleWebhook] }] },
);
export const secretAnswer = named('SecretAnswer', { status: Type.Literal('OK'), secret });
export const webhookParameter = Type.Object({
  webhookId: Type.String({ description: 'The `id` of the webhook.' }),
});

export const deadLetterListAnswer = named('DeadLetterList', {
  status: Type.Literal('OK'),
  result: Type.Array(
    named('DeadLetter', {
      eventId: Type.String(),
      eventType,
      messageId: Type.String(),
      attempts: Type.Integer(),
      lastStatus: Type.Optional(
        Type.Integer({ description: 'HTTP status of the last attempt; absent if there was no answer.' }),
      ),
      lastError: Type.String({ description: 'Error of the last attempt; empty if there was none.' }),
      createdTime: Type.String({ format: 'date-time' }),
    }),
  ),
});

export const replayBody = Type.Object(
  {
    eventIds: Type.Optional(
      Type.Array(Type.String(), { maxItems: 200, description: 'Ids of the events; default: all.' }),
    ),
  },
  { title: 'Replay', additionalProperties: false, examples: [{}] },
);
export const replayAnswer = named('ReplayAnswer', {
  status: Type.Literal('OK'),
  replayed: Type.Integer({
    description: 'Number of notifications that are sent again; for a disabled webhook, when it is enabled.',
  }),
});

/** The payload of a webhook of the kind `status`: `EventPayload` with the number of the attempt. */
export const notification = Type.Object(
  {
    eventId: Type.String({ description: 'The same in every attempt; equal to the header webhook-id.' }),
    eventType,
    eventTime: Type.String({ format: 'date-time' }),
    messageId: Type.String({ description: 'The sent message, or the copy of a received one in your inbox.' }),
    fromDirectAddress: Type.String(),
    toDirectAddress: Type.String(),
    status: Type.Enum([...recipientStates, 'received'], {
      type: 'string',
      description: 'The state of the recipient, or received.',
    }),
    statusCode: Type.String({ description: 'Enhanced status code (RFC 3463).' }),
    statusText: Type.String({ description: 'An explanation by this service.' }),
    attempt: Type.Integer({ minimum: 1, description: 'Number of this attempt to deliver the notification.' }),
  },
  {
    title: 'Notification',
    examples: [
      {
        eventId: '0c6f3a52-4d0e-4d7f-8c3b-0a5e8f7b9d11',
        eventType: 'message.processed',
        eventTime: '2026-11-22T09:30:00.000Z',
        messageId: 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
        fromDirectAddress: exampleSender,
        toDirectAddress: exampleRecipient,
        status: 'processed',
        statusCode: '2.0.0',
        statusText: 'The receiving service accepted the message.',
        attempt: 1,
      },
    ],
  },
);
