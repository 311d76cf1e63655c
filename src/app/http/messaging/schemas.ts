import { Type, type TObject, type TSchema } from 'typebox';
import {
  flagFields,
  recipientStates,
  textFields,
  type SendLimits,
} from '../../../service/messaging/index.ts';

const literals = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)));

const time = (description: string) => Type.String({ format: 'date-time', description });
const messageUrn = (description: string) =>
  Type.String({ description, examples: ['urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11'] });

const recipientStatus = literals(recipientStates);

/** Messaging spec: Outbound message, and Attachment object. Built from the table that also reads the request. */
export function sendBody(limits: SendLimits): TObject {
  const lengths = { subject: limits.subjectLength, text: limits.textLength };
  const texts = textFields.map((field): [string, TSchema] => {
    const maxLength = typeof field.maxLength === 'number' ? field.maxLength : lengths[field.maxLength];
    return [
      field.name,
      Type.Optional(Type.String({ description: field.description, examples: [field.example], maxLength })),
    ];
  });
  const flags = flagFields.map((field): [string, TSchema] => [
    field.name,
    Type.Optional(Type.Boolean({ description: field.description })),
  ]);
  return Type.Object(
    {
      fromDirectAddress: Type.String({
        description: 'Sender Direct address; must belong to the caller.',
        examples: ['alice@direct.example.org'],
      }),
      toDirectAddress: Type.Union(
        [Type.String(), Type.Array(Type.String(), { maxItems: limits.recipients })],
        {
          description: `Recipients: one address, a list joined by commas or semicolons, or a JSON array; at most ${limits.recipients}.`,
          examples: ['bob@direct.example.net'],
        },
      ),
      messageId: Type.Optional(
        messageUrn(
          'Message identifier, made here if absent. It is also the idempotency key: the same id with the same body answers the same and sends nothing; with another body it is refused (409).',
        ),
      ),
      emailAttachmentList: Type.Optional(
        Type.Array(attachment, {
          maxItems: limits.attachments,
          description: `At most ${limits.attachments} attachments of ${limits.attachmentBytes} decoded bytes together.`,
        }),
      ),
      ...Object.fromEntries([...texts, ...flags]),
    },
    { title: 'OutboundMessage', additionalProperties: false },
  );
}

const attachment = Type.Object(
  {
    attachmentClass: Type.String({
      description: 'Media type, checked against the content for the common types.',
      examples: ['text/xml'],
    }),
    attachmentContent: Type.String({
      description: 'Base64-encoded content (RFC 4648 §4); line breaks are allowed.',
      examples: ['PENsaW5pY2FsRG9jdW1lbnQvPg=='],
    }),
    attachmentTitle: Type.Optional(
      Type.String({ description: 'Title.', maxLength: 255, examples: ['Referral note'] }),
    ),
    attachmentFileName: Type.Optional(
      Type.String({
        description: 'File name; derived from the type if absent.',
        maxLength: 255,
        examples: ['referral.xml'],
      }),
    ),
  },
  { title: 'Attachment', additionalProperties: false },
);

const problem = Type.Object({ field: Type.String(), reason: Type.String(), detail: Type.String() });

export const sendAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    messageId: messageUrn('The given or a new identifier.'),
    result: Type.Array(
      Type.Object({
        toDirectAddress: Type.String(),
        status: recipientStatus,
        statusTime: time('When the status was entered.'),
      }),
      { description: 'One entry a recipient, in the order given.' },
    ),
    warnings: Type.Optional(
      Type.Array(problem, {
        description: 'What is allowed but will trouble a receiver. Only present if there is something.',
      }),
    ),
  },
  { title: 'SendAnswer', description: 'The message is stored durably and will go out.' },
);

const historyEntry = Type.Object({
  event: Type.String({
    description: 'accepted, sent, refused, processed, dispatched, failure-reported or window-closed.',
  }),
  time: time('When it happened.'),
  status: recipientStatus,
  late: Type.Boolean({
    description: 'True if the status was final already; the event then changed nothing.',
  }),
  reason: Type.String(),
  statusCode: Type.String(),
  diagnostic: Type.String({ description: 'What the far side said.' }),
});

const recipientReport = Type.Object({
  toDirectAddress: Type.String(),
  status: recipientStatus,
  statusTime: time('When the status was entered.'),
  final: Type.Boolean({ description: 'True if the status cannot change any more.' }),
  reason: Type.String({
    description:
      'Why it failed or, while the status is queued, why the last attempt failed. Empty, or: no-certificate, untrusted, sender-certificate, certificate-expired, unknown-recipient, domain-not-found, no-mail-host, dns-failed, unreachable, tls-failed, smtp-deferred, smtp-rejected, remote-failed, no-processed-mdn, no-dispatched-mdn, cancelled, internal.',
  }),
  statusCode: Type.String({ description: 'Enhanced status code (RFC 3463).' }),
  statusText: Type.String(),
  attempts: Type.Optional(
    Type.Integer({ description: 'While the status is queued: how many attempts have failed so far.' }),
  ),
  nextAttemptTime: Type.Optional(
    time(
      'While the status is queued: when it is tried next. Absent while an attempt is under way or the operator holds the destination.',
    ),
  ),
  history: Type.Array(historyEntry),
});

const reportMembers = {
  messageId: messageUrn('The message.'),
  messageStatus: Type.Union([recipientStatus, Type.Literal('partial')], {
    description:
      'While anything is open, the status of the recipient that is least far; then the common one, `failed` if nobody has the message, else `partial`.',
  }),
  fromDirectAddress: Type.String(),
  acceptedTime: time('When the message was stored.'),
  xdm: Type.Boolean(),
  asmEnabled: Type.Boolean({ description: 'As it was sent; it has no effect.' }),
  requestFinalDelivery: Type.Boolean(),
  result: Type.Array(recipientReport, { description: 'One entry a recipient, in the order given.' }),
};

export const statusAnswer = Type.Object(
  { status: Type.Literal('OK'), ...reportMembers },
  { title: 'StatusAnswer' },
);

export const statusListBody = Type.Object(
  { messageIds: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) },
  { title: 'StatusQuestion', additionalProperties: false },
);
export const statusListAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(Type.Object(reportMembers)),
    unknown: Type.Array(Type.String(), { description: 'Ids that name no message of this client.' }),
  },
  { title: 'StatusListAnswer' },
);

export const evidenceAnswer = Type.Object(
  {
    payload: Type.String({
      description:
        'base64url of the evidence as JSON: messageId, wireMessageId, fromDirectAddress, acceptedTime, createdTime, and in `result` for each recipient status, history, attempts (with sentSha256) and notices (signedNotice is base64).',
    }),
    protected: Type.String({ description: 'base64url of the header: alg, typ, x5c.' }),
    signature: Type.String({ description: 'base64url.' }),
  },
  { title: 'SignedEvidence' },
);

export const messageIdParameter = Type.Object({
  messageId: Type.String({ description: '`urn:uuid:<uuid>` or the bare UUID.' }),
});
export const attachmentParameters = Type.Object({
  messageId: Type.String({ description: '`urn:uuid:<uuid>` or the bare UUID.' }),
  position: Type.Integer({ minimum: 0, description: 'Place in emailAttachmentList, counted from 0.' }),
});
export const xdmQuery = Type.Object(
  {
    xdm: Type.Optional(
      Type.Boolean({
        description:
          'True: XDM packages as received, loose documents packed into one. False (default): the documents themselves.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const inboxQuery = Type.Object(
  {
    toDirectAddress: Type.Optional(
      Type.String({ description: 'Only this address of yours; all of them if absent.' }),
    ),
    limit: Type.Optional(Type.Integer({ description: 'Entries on the page: 25 by default, 100 at most.' })),
    cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before.' })),
  },
  { additionalProperties: false },
);
export const inboxAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(
      Type.Object({
        messageId: messageUrn("This recipient's copy; used in the addresses below."),
        fromDirectAddress: Type.String(),
        toDirectAddress: Type.String(),
        receivedTime: time('When it was received.'),
        attachmentCount: Type.Integer(),
        sizeBytes: Type.Integer(),
      }),
    ),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  },
  { title: 'InboxAnswer' },
);

export const inboundPayload = Type.Object(
  {
    status: Type.Optional(Type.Literal('OK')),
    envelopeInfo: Type.Object({
      fromDirectAddress: Type.String(),
      toDirectAddress: Type.Array(Type.String()),
      messageId: messageUrn("This recipient's copy."),
      transitTime: time('When it was received.'),
      wireMessageId: Type.String({ description: "The sender's Message-ID; empty if there was none." }),
    }),
    messageSubject: Type.String(),
    messageBody: Type.String(),
    xdm: Type.Boolean({ description: 'True if an attachment is an XDM package.' }),
    emailAttachmentList: Type.Array(
      Type.Object({
        attachmentClass: Type.String(),
        attachmentContent: Type.String({ description: 'Base64.' }),
        attachmentFileName: Type.String(),
        attachmentTitle: Type.String(),
        attachmentSize: Type.String({ description: 'Bytes, as text.' }),
        attachmentHash: Type.String({ description: 'SHA-256 of the bytes, hex.' }),
        attachmentTypeCode: Type.String({ description: 'From the XDM metadata, else empty.' }),
        attachmentTypeCodeText: Type.String(),
      }),
    ),
  },
  { title: 'InboundMessage' },
);

export const acknowledgeAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    messageId: messageUrn('The message.'),
    acknowledgedTime: time('When it was acknowledged first.'),
  },
  { title: 'AcknowledgeAnswer' },
);

export const validateBody = Type.Object(
  {
    fromDirectAddress: Type.String({
      description: 'One of your addresses; trust is judged from its point of view.',
    }),
    toDirectAddress: Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 100 })], {
      description: 'At most 100 addresses.',
    }),
  },
  { title: 'ValidateQuestion', additionalProperties: false },
);
const verdict = (description: string) => Type.Union([Type.Boolean(), Type.Null()], { description });
export const validateAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(
      Type.Object({
        directAddress: Type.String(),
        syntax: Type.Boolean({ description: 'It is well-formed.' }),
        certificate: verdict('A certificate was found; null if it could not be told.'),
        trusted: verdict('A found certificate is trusted; null if it could not be told.'),
        listed: verdict('The directory lists it; null if it could not be told.'),
        reason: Type.String({ description: 'Empty, or why it cannot be sent to.' }),
        statusCode: Type.String(),
      }),
    ),
  },
  { title: 'ValidateAnswer' },
);
