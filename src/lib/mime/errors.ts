import { codedError, type ErrorTable } from '../../core/index.ts';

export const mimeErrors = {
  /** More nested multiparts or messages than `maxDepth`. */
  MIME_TOO_DEEP: { kind: 'invalid-input' },
  /** More parts in one tree than `maxParts`. */
  MIME_TOO_MANY_PARTS: { kind: 'too-large' },
  /**
   * A header section over `maxHeaderBytes`, over `maxHeaderFields`, or a field over `maxHeaderFieldBytes`.
   */
  MIME_HEADER_TOO_LARGE: { kind: 'too-large' },
  /** A header value that holds CR, LF or NUL, or a name that is not a field name. */
  MIME_HEADER_UNSAFE: { kind: 'invalid-input' },
  /** A header that the writer sets itself, or that must never be sent (Bcc). */
  MIME_HEADER_FORBIDDEN: { kind: 'invalid-input' },
  /** An address that is not valid in a header. */
  MIME_ADDRESS_INVALID: { kind: 'invalid-input' },
  /** A Message-ID that has not the form `<left@right>`. */
  MIME_MESSAGE_ID_INVALID: { kind: 'invalid-input' },
  /** A media type or parameter that cannot be written. */
  MIME_MEDIA_TYPE_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

/** Thrown by every function of this module; never holds header values, since they may name a patient. */
export class MimeError extends codedError(mimeErrors) {}
