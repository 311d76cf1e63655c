import { bodyOf, named, queryOf } from '../named.ts';
import { addressVerification } from '../address-verification.ts';
import { Type, type TObject, type TSchema } from 'typebox';
import {
  failureReasons,
  flagFields,
  maxTextCharacters,
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

/**
 * Messaging spec: Outbound message, and Attachment object. Built from the table that also reads the request.
 */
export function sendBody(limits: SendLimits): TObject {
  const lengths = { subject: limits.maxSubjectCharacters, text: maxTextCharacters };
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
        [Type.String(), Type.Array(Type.String(), { maxItems: limits.maxRecipients })],
        {
          description: `Recipients: one address, a list joined by commas or semicolons, or a JSON array; at most ${limits.maxRecipients}.`,
          examples: [exampleRecipient],
        },
      ),
      messageId: Type.Optional(
        messageUrn(
          'Message identifier: `urn:uuid:<uuid>`; created if absent. It is also the idempotency key: a repeated request with the same body gets the same answer and sends nothing; another body with the same id is refused (409).',
        ),
      ),
      emailAttachmentList: Type.Optional(
        Type.Array(attachment, {
          maxItems: limits.maxAttachments,
          description: `At most ${limits.maxAttachments} attachments, together at most ${limits.maxAttachmentBytes} bytes when decoded.`,
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

const attachment = bodyOf('Attachment', {
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
});

export const sendAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    messageId: messageUrn('The identifier of the request, or the created one.'),
    result: Type.Array(
      named('AcceptedRecipient', {
        toDirectAddress: Type.String(),
        status: recipientStatus,
        statusTime: time('Time of the last change of the status.'),
      }),
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

const historyEntry = named('HistoryEntry', {
  event: Type.String({
    description: 'accepted, sent, refused, processed, dispatched, failure-reported or window-closed.',
  }),
  time: time('Time of the event.'),
  status: recipientStatus,
  late: Type.Boolean({
    description: 'True if the status was already final; the event then changed nothing.',
  }),
  reason: Type.String({ description: 'The reason of a failure, as in RecipientStatus; otherwise empty.' }),
  statusCode: Type.String({ description: 'Enhanced status code (RFC 3463); may be empty.' }),
  diagnostic: Type.String({
    description: 'The text in the SMTP reply, MDN or DSN of the receiving service; may be empty.',
  }),
});

/** Why something failed; the words of Decision 0012. */
const reasonText = `Empty, or: ${Object.keys(failureReasons).join(', ')}.`;

const recipientResult = named('RecipientStatus', {
  toDirectAddress: Type.String(),
  status: recipientStatus,
  statusTime: time('Time of the last change of the status.'),
  final: Type.Boolean({ description: 'True if the status cannot change anymore.' }),
  reason: Type.String({
    description: `The reason of the failure or, while the status is queued, of the last failed attempt. ${reasonText}`,
  }),
  statusCode: Type.String({ description: 'Enhanced status code (RFC 3463); may be empty.' }),
  statusText: Type.String({ description: 'The status or the reason as a sentence for people.' }),
  attempts: Type.Optional(
    Type.Integer({ description: 'While the status is queued: the number of failed attempts.' }),
  ),
  nextAttemptTime: Type.Optional(
    time(
      'While the status is queued: time of the next attempt. Absent while an attempt is in progress or the operator holds the destination.',
    ),
  ),
  history: Type.Array(historyEntry, { description: 'The events of this recipient, oldest first.' }),
});

const statusMembers = {
  messageId: messageUrn('The message.'),
  messageStatus: words([...recipientStates, 'partial'], {
    title: 'MessageState',
    description:
      'While the status of a recipient is not final: the earliest such status in the order queued, sent, processed. When all are final: the status that all share; otherwise `failed` if no recipient has the message, else `partial`.',
  }),
  fromDirectAddress: Type.String(),
  acceptedTime: time('When the message was stored.'),
  xdm: Type.Boolean({ description: 'The value in the request.' }),
  asmEnabled: Type.Boolean({ description: 'The value in the request; it has no effect.' }),
  requestFinalDelivery: Type.Boolean({
    description:
      'True if the dispatched state was requested, by the request or by the settings of the client.',
  }),
  result: Type.Array(recipientResult, { description: 'One entry per recipient, in the order given.' }),
};

const exampleStatus = {
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
  { status: Type.Literal('OK'), ...statusMembers },
  { title: 'StatusAnswer', examples: [{ status: 'OK', ...exampleStatus }] },
);

export const statusListBody = Type.Object(
  { messageIds: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) },
  { title: 'StatusQuestion', additionalProperties: false, examples: [{ messageIds: [exampleId] }] },
);
export const statusListAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(named('MessageStatus', statusMembers)),
    unknown: Type.Array(Type.String(), { description: 'Ids for which you have no sent message.' }),
  },
  { title: 'StatusListAnswer', examples: [{ status: 'OK', result: [exampleStatus], unknown: [] }] },
);

const sha256 = (description: string) => Type.String({ description: `SHA-256, hex, ${description}` });

/** The payload of evidence, version 1; clients decode it from `SignedEvidence`. */
const evidence = named('Evidence', {
  type: Type.Literal('direct-delivery-evidence'),
  version: Type.Literal(1),
  createdTime: time('When the evidence was signed.'),
  messageId: messageUrn('The message.'),
  wireMessageId: Type.String({ description: 'The Message-ID header, to which MDNs refer.' }),
  fromDirectAddress: Type.String(),
  acceptedTime: time('When the message was stored.'),
  result: Type.Array(
    named('RecipientEvidence', {
      toDirectAddress: Type.String(),
      status: recipientStatus,
      statusTime: time('Time of the last change of the status.'),
      reason: Type.String({ description: reasonText }),
      statusCode: Type.String(),
      history: Type.Array(historyEntry),
      attempts: Type.Array(
        named('Attempt', {
          time: time('Start of the attempt.'),
          durationMs: Type.Integer({ description: 'Duration in milliseconds.' }),
          host: Type.String({ description: 'Mail server; empty if none was reached.' }),
          address: Type.String({ description: 'Its IP address.' }),
          tls: Type.String({ description: 'TLS version; empty for plain text.' }),
          reply: Type.String({ description: 'The last SMTP reply, or a description of the error.' }),
          outcome: words(['sent', 'partial', 'deferred', 'failed']),
          code: Type.String({
            description: 'Reason why the message was not sent to some recipients; otherwise empty.',
          }),
          sentSha256: sha256('of the signed and encrypted bytes that were sent; empty if none were.'),
          certificates: Type.Array(Type.Unknown(), {
            description: "The recipient's certificates, each with its fingerprint and its anchor or refusal.",
          }),
        }),
      ),
      mdns: Type.Array(
        named('SignedMdn', {
          receivedTime: time('When the MDN was received.'),
          signerPath: Type.Array(sha256("of a certificate on the signer's validated path."), {
            description: 'From the signer to the anchor.',
          }),
          signerCertificates: Type.Array(Type.String(), {
            description:
              'The certificates of that path in the same order: DER, base64. Empty for an MDN that was received before they were stored.',
          }),
          signedMdn: Type.String({ description: 'The signed MIME entity as received, base64.' }),
        }),
      ),
    }),
  ),
});

export const evidenceAnswer = named('SignedEvidence', {
  payload: Type.String({
    description: 'base64url of the evidence as JSON.',
    contentEncoding: 'base64url',
    contentMediaType: 'application/json',
    contentSchema: evidence,
  }),
  protected: Type.String({ description: 'base64url of the header: alg, typ, x5c.' }),
  signature: Type.String({ description: 'base64url.' }),
});

export const messageIdParameter = Type.Object({
  messageId: Type.String({ description: '`urn:uuid:<uuid>` or the bare UUID.' }),
});
export const attachmentParameters = Type.Object({
  messageId: Type.String({ description: '`urn:uuid:<uuid>` or the bare UUID.' }),
  position: Type.Integer({ minimum: 0, description: 'Index in emailAttachmentList, starting at 0.' }),
});
export const xdmQuery = queryOf({
  xdm: Type.Optional(
    Type.Boolean({
      description:
        'True: XDM packages as received, loose documents packed into one. False (default): the documents themselves.',
    }),
  ),
});

export const inboxQuery = queryOf({
  toDirectAddress: Type.Optional(Type.String({ description: 'One of your addresses; default: all.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Entries on the page: 25 by default, 100 at most.' }),
  ),
  cursor: Type.Optional(Type.String({ description: '`nextCursor` of the previous page.' })),
});
export const inboxAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(
      named('InboxEntry', {
        messageId: messageUrn("Id of this recipient's copy, to fetch and acknowledge it."),
        fromDirectAddress: Type.String(),
        toDirectAddress: Type.String(),
        forwardedFrom: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'The addresses that it was sent to, if yours gets it for them; their MDNs answer it. Absent otherwise.',
          }),
        ),
        receivedTime: time('When it was received.'),
        attachmentCount: Type.Integer({
          description:
            'Number of attachments as they were received: an XDM package counts as one, whatever it contains.',
        }),
        sizeBytes: Type.Integer({ description: 'Size of the received message in bytes.' }),
      }),
    ),
    nextCursor: Type.Optional(
      Type.String({ description: 'The `cursor` of the next page; absent on the last page.' }),
    ),
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
    envelopeInfo: named('Envelope', {
      fromDirectAddress: Type.String(),
      toDirectAddress: Type.Array(Type.String()),
      messageId: messageUrn("Id of this recipient's copy."),
      transitTime: time('When it was received.'),
      wireMessageId: Type.String({ description: "The sender's Message-ID; empty if there was none." }),
    }),
    messageSubject: Type.String({
      description: 'One line, without control characters and marks that turn the direction of writing.',
    }),
    messageBody: Type.String(),
    messageBodyClass: Type.String({
      description: 'Media type of messageBody: text/plain or text/html; empty if the message has no text.',
    }),
    directContext: Type.String({
      description:
        'The value of X-Direct-Context without angle brackets, which is the attachmentContentId of the attachment with the context; empty if there is none.',
    }),
    xdm: Type.Boolean({ description: 'True if an attachment is an XDM package.' }),
    emailAttachmentList: Type.Array(
      named('InboundAttachment', {
        attachmentClass: Type.String({ description: 'Media type, without parameters.' }),
        attachmentCharset: Type.String({
          description: 'The charset that the sender gave with the media type; empty if there is none.',
        }),
        attachmentContent: Type.String({ description: 'Base64-encoded content.' }),
        attachmentFileName: Type.String(),
        attachmentTitle: Type.String(),
        attachmentContentId: Type.String({
          description: 'Content-ID without angle brackets; empty if there is none.',
        }),
        attachmentInline: Type.Boolean({
          description:
            'True if it belongs to the text and is no document: an image in it, the text in another form, or its original octets.',
        }),
        attachmentSize: Type.String({ description: 'Size in bytes, as a decimal string.' }),
        attachmentHash: Type.String({ description: 'SHA-256 of the bytes, hex.' }),
        attachmentTypeCode: Type.String({
          description: 'Type code (LOINC) from the XDM metadata; empty if there is none.',
        }),
        attachmentTypeCodeText: Type.String({
          description: 'Display name of the type code; may be empty.',
        }),
      }),
    ),
    warnings: Type.Optional(
      Type.Array(problemSchema, {
        description:
          'What was not read as its sender may have meant it, such as a text in an unknown character set, whose octets are then an attachment, or a damaged XDM package (`checksum_mismatch`, `hash_mismatch`, `size_mismatch`, `document_missing`, `document_unreadable`, `archive_damaged`, `metadata_missing`, `metadata_unreadable`, `xdm_…` for one that was not unpacked). Absent if there is nothing.',
      }),
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
        messageBodyClass: 'text/plain',
        directContext: '',
        xdm: false,
        emailAttachmentList: [
          {
            ...exampleAttachment,
            attachmentCharset: 'utf-8',
            attachmentContentId: '',
            attachmentInline: false,
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

export const acknowledgeAnswer = named('AcknowledgeAnswer', {
  status: Type.Literal('OK'),
  messageId: messageUrn('The acknowledged message.'),
  acknowledgedTime: time('Time of the first acknowledgement.'),
});

export const validateBody = Type.Object(
  {
    fromDirectAddress: Type.String({
      description: 'One of your addresses. Trust is judged by the anchors of its domain.',
    }),
    toDirectAddress: Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 100 })], {
      description: 'At most 100 addresses: one, a list joined by commas or semicolons, or a JSON array.',
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
export const validateAnswer = named('ValidateAnswer', {
  status: Type.Literal('OK'),
  result: Type.Array(
    named('AddressCheck', {
      directAddress: Type.String(),
      syntax: Type.Boolean({ description: 'True if the address is well-formed.' }),
      certificate: verdict('True if a certificate was found; null if unknown.'),
      trusted: verdict('True if a certificate that was found is trusted; null if unknown.'),
      listed: verdict('True if the directory lists the address; null if unknown.'),
      reason: Type.String({
        description:
          'Empty, or why a send would fail: invalid (not a Direct address), undecided (no result in time; ask again), or a reason of RecipientStatus.',
      }),
      statusCode: Type.String({ description: 'Enhanced status code (RFC 3463); may be empty.' }),
      verification: Type.Optional(addressVerification),
    }),
  ),
});
