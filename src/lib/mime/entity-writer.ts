import { base64LinesLength, writeBase64Lines } from './base64-lines.ts';
import { MimeError } from './errors.ts';
import { formatParameterHeader } from './format-parameters.ts';
import { formatHeader, formatTextHeader } from './header-lines.ts';

/** One part that is written in base64, so that any bytes come out as they went in. */
export interface AttachmentInput {
  /** Type and subtype, perhaps with parameters: `application/pdf`, `text/xml; charset=utf-8`. */
  readonly mediaType: string;
  readonly content: Uint8Array;
  readonly fileName?: string;
  /** The value of Content-Description. */
  readonly title?: string;
  /** With or without angle brackets. */
  readonly contentId?: string;
}

/** A piece of a message before it is laid out: bytes as they are, or bytes to be written as base64 lines. */
export type Piece = { readonly bytes: Uint8Array } | { readonly base64: Uint8Array };

const mediaTypeForm = /^[!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+(\s*;.*)?$/;

/** Header section and body of an attachment part. */
export function attachmentPieces(attachment: AttachmentInput): Piece[] {
  return [{ bytes: Buffer.from(attachmentHeader(attachment), 'latin1') }, { base64: attachment.content }];
}

function attachmentHeader({ mediaType, fileName, title, contentId }: AttachmentInput): string {
  if (!mediaTypeForm.test(mediaType))
    throw new MimeError('MIME_MEDIA_TYPE_INVALID', 'A media type is not legal');
  const name: readonly (readonly [string, string])[] = fileName === undefined ? [] : [['name', fileName]];
  const lines = [
    formatParameterHeader('Content-Type', mediaType, name),
    formatHeader('Content-Transfer-Encoding', 'base64'),
    formatParameterHeader(
      'Content-Disposition',
      'attachment',
      name.map(([, text]) => ['filename', text]),
    ),
  ];
  if (title !== undefined && title !== '') lines.push(formatTextHeader('Content-Description', title));
  if (contentId !== undefined) lines.push(formatHeader('Content-ID', `<${contentId.replace(/^<|>$/g, '')}>`));
  return `${lines.join('')}\r\n`;
}

/** Header section and body of a multipart with the given parts; each part is the pieces of a whole entity. */
export function multipartPieces(
  contentType: string,
  boundary: string,
  parts: readonly (readonly Piece[])[],
): Piece[] {
  const pieces: Piece[] = [
    text(formatParameterHeader('Content-Type', contentType, [['boundary', boundary]])),
    text('\r\n'),
  ];
  for (const [index, part] of parts.entries()) {
    // The line end before a delimiter belongs to it, so parts keep their own last line end or the lack of
    // one.
    pieces.push(text(`${index === 0 ? '' : '\r\n'}--${boundary}\r\n`), ...part);
  }
  pieces.push(text(`\r\n--${boundary}--\r\n`));
  return pieces;
}

function text(value: string): Piece {
  return { bytes: Buffer.from(value, 'latin1') };
}

/** Lays the pieces out in one allocation. */
export function joinPieces(pieces: readonly Piece[]): Buffer {
  const target = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + lengthOf(piece), 0));
  let offset = 0;
  for (const piece of pieces) {
    if ('base64' in piece) offset = writeBase64Lines(piece.base64, target, offset);
    else {
      target.set(piece.bytes, offset);
      offset += piece.bytes.length;
    }
  }
  return target;
}

function lengthOf(piece: Piece): number {
  return 'base64' in piece ? base64LinesLength(piece.base64.length) : piece.bytes.length;
}
