import { createHash } from 'node:crypto';
import type { FieldProblem } from '../../../core/index.ts';
import type { InboundContent, InboundDocument, ReceivedFacts } from './inbound-document.ts';

/** A received message as edge clients get it, by pull and by push (Decision 0014). */
export interface InboundPayload {
  readonly envelopeInfo: {
    readonly fromDirectAddress: string;
    readonly toDirectAddress: readonly string[];
    /** `urn:uuid:…`, the name of this recipient's copy. */
    readonly messageId: string;
    /** Time of receipt. */
    readonly transitTime: string;
    /** The sender's Message-ID, with angle brackets; empty if there was none. */
    readonly wireMessageId: string;
  };
  readonly messageSubject: string;
  readonly messageBody: string;
  /** Media type of `messageBody`: `text/plain` or `text/html`; empty if there is no text. */
  readonly messageBodyClass: string;
  /** `attachmentContentId` of the attachment that expresses the context (CTX-01); empty if there is none. */
  readonly directContext: string;
  readonly xdm: boolean;
  readonly emailAttachmentList: readonly InboundAttachmentPayload[];
  /** What was not read as its sender may have meant it; absent if there is nothing. */
  readonly warnings?: readonly FieldProblem[];
}

export interface InboundAttachmentPayload {
  readonly attachmentClass: string;
  /** Of a text that names it, such as `iso-8859-1`; else empty. */
  readonly attachmentCharset: string;
  readonly attachmentContent: string;
  readonly attachmentFileName: string;
  readonly attachmentTitle: string;
  /** Without angle brackets; may be empty. */
  readonly attachmentContentId: string;
  /** Part of the text and no document. */
  readonly attachmentInline: boolean;
  /** Bytes, as text. */
  readonly attachmentSize: string;
  /** SHA-256 of the bytes, hex. */
  readonly attachmentHash: string;
  readonly attachmentTypeCode: string;
  readonly attachmentTypeCodeText: string;
}

export function buildInboundPayload(facts: ReceivedFacts, content: InboundContent): InboundPayload {
  return {
    envelopeInfo: {
      fromDirectAddress: facts.sender,
      toDirectAddress: [facts.recipient],
      messageId: `urn:uuid:${facts.copyId}`,
      transitTime: facts.receivedAt.toISOString(),
      wireMessageId: facts.wireId,
    },
    messageSubject: content.subject,
    messageBody: content.body,
    messageBodyClass: content.bodyType,
    directContext: content.directContext,
    xdm: content.isXdm,
    emailAttachmentList: content.documents.map(toAttachment),
    ...(content.warnings.length === 0 ? {} : { warnings: content.warnings }),
  };
}

function toAttachment(document: InboundDocument): InboundAttachmentPayload {
  return {
    attachmentClass: document.mediaType,
    attachmentCharset: document.charset,
    attachmentContent: document.content.toString('base64'),
    attachmentFileName: document.fileName,
    attachmentTitle: document.title,
    attachmentContentId: document.contentId,
    attachmentInline: document.isInline,
    attachmentSize: String(document.content.length),
    attachmentHash: createHash('sha256').update(document.content).digest('hex'),
    attachmentTypeCode: document.typeCode,
    attachmentTypeCodeText: document.typeCodeText,
  };
}
