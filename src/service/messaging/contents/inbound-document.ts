import type { FieldProblem } from '../../../core/index.ts';
import type { ServiceIdentity } from '../identity.ts';

/** A recipient's copy and the message that it is of, without its content. */
export interface ReceivedFacts {
  readonly copyId: string;
  readonly recipient: string;
  readonly sender: string;
  /** The sender's Message-ID, with angle brackets; empty if there was none. */
  readonly wireId: string;
  readonly receivedAt: Date;
}

export interface OpenOptions {
  readonly facts: ReceivedFacts;
  readonly isXdm: boolean;
  readonly identity: ServiceIdentity;
}

/** One attachment of a received message, as an edge client gets it. */
export interface InboundDocument {
  readonly mediaType: string;
  /**
   * The `charset` that the sender gave with the media type; empty if there was none, or in a package, which
   * has no place for it.
   */
  readonly charset: string;
  readonly content: Buffer;
  readonly fileName: string;
  readonly title: string;
  /**
   * Content-ID without angle brackets; empty if there was none, or in a package, which has no place for it.
   */
  readonly contentId: string;
  /**
   * True for what belongs to the text and is no document: an image in it, the text in another form, its
   * octets.
   */
  readonly isInline: boolean;
  /** From the metadata of an XDM package, else empty. */
  readonly typeCode: string;
  readonly typeCodeText: string;
}

/** Damage that was found in a package. Names nothing that could be of a patient. */
export interface PackageWarning extends FieldProblem {
  /** What is damaged: `document 1 of 2 (DOC00001.XML, 1.2.3.4)`. */
  readonly subject: string;
}

/** A received message, decoded. */
export interface InboundContent {
  /** One line, without control characters and marks of direction. */
  readonly subject: string;
  readonly body: string;
  /** `text/plain` or `text/html`; empty without a text. */
  readonly bodyType: string;
  /** The content id in X-Direct-Context, without angle brackets; empty if there was none (CTX-01). */
  readonly directContext: string;
  /** True if `documents` holds an XDM package. */
  readonly isXdm: boolean;
  readonly documents: readonly InboundDocument[];
  /** What was not read as its sender may have meant it. */
  readonly warnings: readonly FieldProblem[];
}
