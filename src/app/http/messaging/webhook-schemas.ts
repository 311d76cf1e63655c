import { Type } from 'typebox';
import { eventTypes } from '../../../service/webhook/index.ts';

const eventTypeList = Type.Array(Type.Union(eventTypes.map((type) => Type.Literal(type))), {
  description: `What to be told about: ${eventTypes.join(', ')}. All by default.`,
});
const url = Type.String({
  description: 'HTTPS address of a public host. Redirects are not followed.',
  examples: ['https://edge.example.org/hooks/direct'],
});
const description = Type.String({ maxLength: 200 });
const xdm = Type.Boolean({
  description: 'For `inbound`: true to get XDM packages, false (default) to get documents.',
});
const basicAuth = Type.Object(
  { username: Type.String(), password: Type.String() },
  {
    additionalProperties: false,
    description: 'Sent as HTTP Basic beside the signature, for targets that want it.',
  },
);

export const webhookCreateBody = Type.Object(
  {
    url,
    kind: Type.Optional(
      Type.Union([Type.Literal('status'), Type.Literal('inbound')], {
        description:
          '`status` (default): small events without patient data. `inbound`: received messages whole; a 2xx answer acknowledges them.',
      }),
    ),
    description: Type.Optional(description),
    eventTypes: Type.Optional(eventTypeList),
    xdm: Type.Optional(xdm),
    basicAuth: Type.Optional(basicAuth),
  },
  { title: 'WebhookRegistration', additionalProperties: false },
);

export const webhookChangeBody = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    eventTypes: Type.Optional(eventTypeList),
    xdm: Type.Optional(xdm),
    basicAuth: Type.Optional(Type.Union([basicAuth, Type.Null()])),
    enabled: Type.Optional(Type.Boolean({ description: 'False stops sending; true starts it again.' })),
  },
  { title: 'WebhookChange', additionalProperties: false },
);

const webhookMembers = {
  id: Type.String(),
  kind: Type.String(),
  url: Type.String(),
  description: Type.String(),
  eventTypes: Type.Array(Type.String()),
  xdm: Type.Boolean(),
  enabled: Type.Boolean(),
  disabledReason: Type.String({
    description: 'Empty, `client`, `gone` (the target answered 410) or `failing` (three days of failure).',
  }),
  basicAuth: Type.Boolean({ description: 'Whether Basic credentials are kept.' }),
  failingSince: Type.Optional(Type.String({ format: 'date-time' })),
  createdTime: Type.String({ format: 'date-time' }),
};

const secret = Type.String({ description: 'Signing secret `whsec_…`; shown this once.' });

export const webhookAnswer = Type.Object(
  { status: Type.Literal('OK'), webhook: Type.Object(webhookMembers) },
  { title: 'WebhookAnswer' },
);
export const webhookCreatedAnswer = Type.Object(
  { status: Type.Literal('OK'), webhook: Type.Object(webhookMembers), secret },
  { title: 'WebhookCreatedAnswer' },
);
export const webhookListAnswer = Type.Object(
  { status: Type.Literal('OK'), result: Type.Array(Type.Object(webhookMembers)) },
  { title: 'WebhookListAnswer' },
);
export const secretAnswer = Type.Object({ status: Type.Literal('OK'), secret }, { title: 'SecretAnswer' });
export const webhookParameter = Type.Object({ webhookId: Type.String() });

export const deadListAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(
      Type.Object({
        eventId: Type.String(),
        eventType: Type.String(),
        messageId: Type.String(),
        attempts: Type.Integer(),
        lastStatus: Type.Optional(
          Type.Integer({ description: 'HTTP status of the last attempt, if there was one.' }),
        ),
        lastError: Type.String(),
        createdTime: Type.String({ format: 'date-time' }),
      }),
    ),
  },
  { title: 'DeadNotifications' },
);

export const replayBody = Type.Object(
  {
    eventIds: Type.Optional(
      Type.Array(Type.String(), { maxItems: 200, description: 'Which ones; all if absent.' }),
    ),
  },
  { title: 'Replay', additionalProperties: false },
);
export const replayAnswer = Type.Object(
  { status: Type.Literal('OK'), replayed: Type.Integer() },
  { title: 'ReplayAnswer' },
);
