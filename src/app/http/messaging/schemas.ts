import { addressVerification } from '../address-verification.ts';
import { Type, type TObject, type TSchema } from 'typebox';
import {
  failureReasons,
  flagFields,
  recipientStates,
  textFields,
  type SendLimits,
} from '../../../service/messaging/index.ts';
import { problemSchema } from '../envelope.ts';

const exampleId = 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11';
const exampleTime = '2026-11-22T09:30:00.000Z';

/** Addresses in the examples; the sandbox puts its own in their place. */
export const exampleSender = 'alice@direct.example.org';
export const exampleRecipient = 'bob@direct.example.net';

const words = <const Words extends readonly string[]>(
  values: Words,
  options: { title?: string; description?: string } = {},
) => Type.Enum([...values], { type: 'string', ...options });

const time = (description: string) => Type.String({ format: 'date-time', description });
const messageUrn = (description: string) => Type.String({ description, examples: [exampleId] });

const recipientStatus = words(recipientStates, {
  title: 'RecipientState',
  description: 'queued → sent → processed → dispatched (if requested), or failed, or expired.',
});

const exampleAttachment = {
  attachmentClass: 'text/xml',
  attachmentContent: 'PG5vdGU+cmVmZXJyYWw8L25vdGU+',
  attachmentTitle: 'Referral note',
  attachmentFileName: 'referral.xml',
};

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
        examples: [exampleSender],
      }),
      toDirectAddress: Type.Union(
        [Type.String(), Type.Array(Type.String(), { maxItems: limits.recipients })],
        {
          description: `Recipients: one address, a list joined by commas or semicolons, or a JSON array; at most ${limits.recipients}.`,
          examples: [exampleRecipient],
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
    {
      title: 'OutboundMessage',
      additionalProperties: false,
      examples: [
        {
          fromDirectAddress: exampleSender,
          toDirectAddress: exampleRecipient,
          messageSubject: 'Referral',
          messageBody: 'Please find the referral attached.',
          emailAttachmentList: [exampleAttachment],
        },
      ],
    },
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
      examples: [exampleAttachment.attachmentContent],
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

export const sendAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    messageId: messageUrn('The given or a new identifier.'),
    result: Type.Array(
      Type.Object(
        {
          toDirectAddress: Type.String(),
          status: recipientStatus,
          statusTime: time('When the status was entered.'),
        },
        { title: 'AcceptedRecipient' },
      ),
      { description: 'One entry per recipient, in the order given.' },
    ),
    warnings: Type.Optional(
      Type.Array(problemSchema, {
        description: 'Content that is allowed but that some receivers cannot read. Absent if there is none.',
      }),
    ),
  },
  {
    title: 'SendAnswer',
    description: 'The message is stored durably and will be sent.',
    examples: [
      {
        status: 'OK',
        messageId: exampleId,
        result: [{ toDirectAddress: exampleRecipient, status: 'queued', statusTime: exampleTime }],
      },
    ],
  },
);

const historyEntry = Type.Object(
  {
    event: Type.String({
      description: 'accepted, sent, refused, processed, dispatched, failure-reported or window-closed.',
    }),
    time: time('When it happened.'),
    status: recipientStatus,
    late: Type.Boolean({
      description: 'True if the status was already final; the event then changed nothing.',
    }),
    reason: Type.String(),
    statusCode: Type.String(),
    diagnostic: Type.String({ description: 'The text that the far side sent.' }),
  },
  { title: 'HistoryEntry' },
);

/** Why something failed; the words of Decision 0012. */
const reasonText = `Empty, or: ${Object.keys(failureReasons).join(', ')}.`;

const recipientReport = Type.Object(
  {
    toDirectAddress: Type.String(),
    status: recipientStatus,
    statusTime: time('When the status was entered.'),
    final: Type.Boolean({ description: 'True if the status cannot change any more.' }),
    reason: Type.String({
      description: `The reason of the failure or, while the status is queued, of the last failed attempt. ${reasonText}`,
    }),
    statusCode: Type.String({ description: 'Enhanced status code (RFC 3463).' }),
    statusText: Type.String(),
    attempts: Type.Optional(
      Type.Integer({ description: 'While the status is queued: the number of failed attempts.' }),
    ),
    nextAttemptTime: Type.Optional(
      time(
        'While the status is queued: when it is tried next. Absent while an attempt is under way or the operator holds the destination.',
      ),
    ),
    history: Type.Array(historyEntry),
  },
  { title: 'RecipientStatus' },
);

const reportMembers = {
  messageId: messageUrn('The message.'),
  messageStatus: words([...recipientStates, 'partial'], {
    title: 'MessageState',
    description:
      'While anything is open, the status of the recipient that is least far; then the common one, `failed` if nobody has the message, else `partial`.',
  }),
  fromDirectAddress: Type.String(),
  acceptedTime: time('When the message was stored.'),
  xdm: Type.Boolean(),
  asmEnabled: Type.Boolean({ description: 'The value of the request; it has no effect.' }),
  requestFinalDelivery: Type.Boolean(),
  result: Type.Array(recipientReport, { description: 'One entry per recipient, in the order given.' }),
};

const exampleReport = {
  messageId: exampleId,
  messageStatus: 'processed',
  fromDirectAddress: exampleSender,
  acceptedTime: exampleTime,
  xdm: false,
  asmEnabled: false,
  requestFinalDelivery: false,
  result: [
    {
      toDirectAddress: exampleRecipient,
      status: 'processed',
      statusTime: exampleTime,
      final: true,
      reason: '',
      statusCode: '2.0.0',
      statusText: 'The receiving service accepted the message.',
      history: [
        {
          event: 'processed',
          time: exampleTime,
          status: 'processed',
          late: false,
          reason: '',
          statusCode: '2.0.0',
          diagnostic: '',
        },
      ],
    },
  ],
};

export const statusAnswer = Type.Object(
  { status: Type.Literal('OK'), ...reportMembers },
  { title: 'StatusAnswer', examples: [{ status: 'OK', ...exampleReport }] },
);

export const statusListBody = Type.Object(
  { messageIds: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) },
  { title: 'StatusQuestion', additionalProperties: false, examples: [{ messageIds: [exampleId] }] },
);
export const statusListAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(Type.Object(reportMembers, { title: 'MessageStatus' })),
    unknown: Type.Array(Type.String(), { description: 'Ids that are not ids of messages of this client.' }),
  },
  { title: 'StatusListAnswer', examples: [{ status: 'OK', result: [exampleReport], unknown: [] }] },
);

const sha256 = (description: string) => Type.String({ description: `${description} SHA-256, hex.` });

/** The payload of evidence, version 1; clients decode it from `SignedEvidence`. */
const evidence = Type.Object(
  {
    type: Type.Literal('direct-delivery-evidence'),
    version: Type.Literal(1),
    createdTime: time('When the evidence was signed.'),
    messageId: messageUrn('The message.'),
    wireMessageId: Type.String({ description: 'The Message-ID header, to which MDNs refer.' }),
    fromDirectAddress: Type.String(),
    acceptedTime: time('When the message was stored.'),
    result: Type.Array(
      Type.Object(
        {
          toDirectAddress: Type.String(),
          status: recipientStatus,
          statusTime: time('When the status was entered.'),
          reason: Type.String({ description: reasonText }),
          statusCode: Type.String(),
          history: Type.Array(historyEntry),
          attempts: Type.Array(
            Type.Object(
              {
                time: time('When the attempt began.'),
                durationMs: Type.Integer(),
                host: Type.String({ description: 'Mail server; empty if none was reached.' }),
                address: Type.String({ description: 'Its IP address.' }),
                tls: Type.String({ description: 'TLS version; empty for plain text.' }),
                reply: Type.String({ description: 'The last SMTP reply, or a description of the error.' }),
                outcome: words(['sent', 'partial', 'deferred', 'failed']),
                code: Type.String({
                  description: 'Why the message was not sent to some recipients; otherwise empty.',
                }),
                sentSha256: sha256('Of the signed and encrypted bytes that were sent; empty if none were.'),
                certificates: Type.Array(Type.Unknown(), {
                  description:
                    "The recipient's certificates, each with its fingerprint and its anchor or refusal.",
                }),
              },
              { title: 'Attempt' },
            ),
          ),
          mdns: Type.Array(
            Type.Object(
              {
                receivedTime: time('When the MDN was received.'),
                signerPath: Type.Array(sha256("Of a certificate on the signer's validated path."), {
                  description: 'From the signer to the anchor.',
                }),
                signerCertificates: Type.Array(Type.String(), {
                  description:
                    'The certificates of that path in the same order: DER, base64. Empty for one received before they were kept.',
                }),
                signedMdn: Type.String({ description: 'The signed MIME entity as received, base64.' }),
              },
              { title: 'SignedMdn' },
            ),
          ),
        },
        { title: 'RecipientEvidence' },
      ),
    ),
  },
  { title: 'Evidence' },
);

export const evidenceAnswer = Type.Object(
  {
    payload: Type.String({
      description: 'base64url of the evidence as JSON.',
      contentEncoding: 'base64url',
      contentMediaType: 'application/json',
      contentSchema: evidence,
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
  position: Type.Integer({ minimum: 0, description: 'Index in emailAttachmentList, starting at 0.' }),
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
    toDirectAddress: Type.Optional(Type.String({ description: 'One of your addresses; default: all.' })),
    limit: Type.Optional(Type.Integer({ description: 'Entries on the page: 25 by default, 100 at most.' })),
    cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before.' })),
  },
  { additionalProperties: false },
);
export const inboxAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(
      Type.Object(
        {
          messageId: messageUrn("This recipient's copy; used in the addresses below."),
          fromDirectAddress: Type.String(),
          toDirectAddress: Type.String(),
          receivedTime: time('When it was received.'),
          attachmentCount: Type.Integer(),
          sizeBytes: Type.Integer(),
        },
        { title: 'InboxEntry' },
      ),
    ),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  },
  {
    title: 'InboxPage',
    examples: [
      {
        status: 'OK',
        result: [
          {
            messageId: exampleId,
            fromDirectAddress: exampleRecipient,
            toDirectAddress: exampleSender,
            receivedTime: exampleTime,
            attachmentCount: 1,
            sizeBytes: 8192,
          },
        ],
      },
    ],
  },
);

export const inboundPayload = Type.Object(
  {
    status: Type.Optional(Type.Literal('OK')),
    envelopeInfo: Type.Object(
      {
        fromDirectAddress: Type.String(),
        toDirectAddress: Type.Array(Type.String()),
        messageId: messageUrn("This recipient's copy."),
        transitTime: time('When it was received.'),
        wireMessageId: Type.String({ description: "The sender's Message-ID; empty if there was none." }),
      },
      { title: 'Envelope' },
    ),
    messageSubject: Type.String(),
    messageBody: Type.String(),
    xdm: Type.Boolean({ description: 'True if an attachment is an XDM package.' }),
    emailAttachmentList: Type.Array(
      Type.Object(
        {
          attachmentClass: Type.String(),
          attachmentContent: Type.String({ description: 'Base64.' }),
          attachmentFileName: Type.String(),
          attachmentTitle: Type.String(),
          attachmentSize: Type.String({ description: 'Bytes, as text.' }),
          attachmentHash: Type.String({ description: 'SHA-256 of the bytes, hex.' }),
          attachmentTypeCode: Type.String({ description: 'From the XDM metadata; empty if there is none.' }),
          attachmentTypeCodeText: Type.String(),
        },
        { title: 'InboundAttachment' },
      ),
    ),
  },
  {
    title: 'InboundMessage',
    examples: [
      {
        envelopeInfo: {
          fromDirectAddress: exampleRecipient,
          toDirectAddress: [exampleSender],
          messageId: exampleId,
          transitTime: exampleTime,
          wireMessageId: '<6f1c2c5e@hisp.example.net>',
        },
        messageSubject: 'Referral',
        messageBody: 'Please find the referral attached.',
        xdm: false,
        emailAttachmentList: [
          {
            ...exampleAttachment,
            attachmentSize: '21',
            attachmentHash: 'a40930e28de5f6a4f6d928422ebb880c11f66dfc9c3549659872554d86d9b2ee',
            attachmentTypeCode: '',
            attachmentTypeCodeText: '',
          },
        ],
      },
    ],
  },
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
      description: "One of your addresses; its domain's anchors are used.",
    }),
    toDirectAddress: Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 100 })], {
      description: 'At most 100 addresses.',
    }),
    verification: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Also return the last result of directory verification for each address.',
      }),
    ),
  },
  {
    title: 'ValidateQuestion',
    additionalProperties: false,
    examples: [{ fromDirectAddress: exampleSender, toDirectAddress: [exampleRecipient] }],
  },
);
const verdict = (description: string) => Type.Union([Type.Boolean(), Type.Null()], { description });
export const validateAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(
      Type.Object(
        {
          directAddress: Type.String(),
          syntax: Type.Boolean({ description: 'It is well-formed.' }),
          certificate: verdict('A certificate was found; null if unknown.'),
          trusted: verdict('A found certificate is trusted; null if unknown.'),
          listed: verdict('The directory lists it; null if unknown.'),
          reason: Type.String({
            description: 'Empty, or the reason why the address cannot receive messages.',
          }),
          statusCode: Type.String(),
          verification: Type.Optional(addressVerification),
        },
        { title: 'AddressCheck' },
      ),
    ),
  },
  { title: 'ValidateAnswer' },
);
