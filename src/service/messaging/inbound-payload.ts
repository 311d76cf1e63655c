import { createHash } from 'node:crypto';
import type { InboxEntry } from './inbox-access.ts';
import type { InboundContent, InboundDocument } from './open-documents.ts';

/** A received message as edge clients get it, by pull and by push (Decision 0014). */
export interface InboundPayload {
  readonly envelopeInfo: {
    readonly fromDirectAddress: string;
    readonly toDirectAddress: readonly string[];
    /** `urn:uuid:…`, the name of this recipient's copy. */
    readonly messageId: string;
    /** When it was received. */
    readonly transitTime: string;
    /** The sender's Message-ID, with angle brackets; empty if there was none. */
    readonly wireMessageId: string;
  };
  readonly messageSubject: string;
  readonly messageBody: string;
  readonly xdm: boolean;
  readonly emailAttachmentList: readonly InboundAttachmentPayload[];
}

export interface InboundAttachmentPayload {
  readonly attachmentClass: string;
  readonly attachmentContent: string;
  readonly attachmentFileName: string;
  readonly attachmentTitle: string;
  /** Bytes, as text. */
  readonly attachmentSize: string;
  /** SHA-256 of the bytes, hex. */
  readonly attachmentHash: string;
  readonly attachmentTypeCode: string;
  readonly attachmentTypeCodeText: string;
}

export function buildInboundPayload({ copy, message }: InboxEntry, content: InboundContent): InboundPayload {
  return {
    envelopeInfo: {
      fromDirectAddress: message.sender,
      toDirectAddress: [copy.address],
      messageId: `urn:uuid:${copy.id}`,
      transitTime: new Date(copy.received_at).toISOString(),
      wireMessageId: message.wire_id,
    },
    messageSubject: content.subject,
    messageBody: content.body,
    xdm: content.isXdm,
    emailAttachmentList: content.documents.map(toAttachment),
  };
}

function toAttachment(document: InboundDocument): InboundAttachmentPayload {
  return {
    attachmentClass: document.mediaType,
    attachmentContent: document.content.toString('base64'),
    attachmentFileName: document.fileName,
    attachmentTitle: document.title,
    attachmentSize: String(document.content.length),
    attachmentHash: createHash('sha256').update(document.content).digest('hex'),
    attachmentTypeCode: document.typeCode,
    attachmentTypeCodeText: document.typeCodeText,
  };
}
