import { decodeText } from './charset.ts';
import { endOfBase64, isBase64 } from './decode-base64.ts';
import { decodeBody, decodeEntityText, isTransferEncoding, readText } from './decode-body.ts';
import { decodeWords } from './encoded-words.ts';
import { cleanFileName, withExtension } from './file-names.ts';
import { hasStrayLineEnd, isContentField } from './header-fields.ts';
import type { MimeEntity } from './mime-entity.ts';
import { toPlainLine } from './plain-line.ts';
import { findUuencoded, type UuencodedFile } from './uuencode.ts';

/** What a reader must know of a part that was not read as its sender may have meant it. */
export type PartFault =
  /** Nothing here can read the character set that is named; the text is a guess. */
  | 'unknown-charset'
  /** Octets that do not fit the character set are U+FFFD in the text. */
  | 'invalid-octets'
  /** The octets are as they came, since nothing here can undo the transfer encoding that is named. */
  | 'unknown-encoding'
  /** The octets are as they came, since they are not in the transfer encoding that is named. */
  | 'not-encoded'
  /** Text stands behind the base64, as gateways add it; it is not in the content. */
  | 'text-after-base64'
  /** A field of which one is allowed is there twice with different values; the first counts. */
  | 'repeated-field'
  /** A field that describes it holds what some programs take for the end of a line. */
  | 'stray-line-end';

/** One leaf of a message, as an edge client wants it. */
export interface MessagePart {
  /** Of a file inside a text, the entity of that text. */
  readonly entity: MimeEntity;
  readonly mediaType: string;
  /**
   * Last path component only, without control characters and with an extension if the media type has one;
   * absent if the sender gave none.
   */
  readonly fileName?: string;
  /** Content-Description, decoded. */
  readonly title?: string;
  /** Without angle brackets. */
  readonly contentId?: string;
  /** True for text/plain and text/html that is meant to be read in place: not an attachment, no file name. */
  readonly isText: boolean;
  /** The bytes, transfer encoding removed; decoded again at each call. */
  content(): Buffer;
  /** As people read it: lines that flow are joined (RFC 3676), files in it left out. */
  text(): string;
  /** Those of its text, too, if it is text to be read and not longer than a megabyte. */
  faults(): readonly PartFault[];
}

/**
 * The leaves of a message in order (AS-80), those outside of the delimiters behind the others. An attached
 * message/rfc822 is one leaf, and so is each file that a text holds in uuencode. Throws what
 * `MimeEntity.parts` throws.
 */
export function collectParts(entity: MimeEntity): MessagePart[] {
  const leaves: MessagePart[] = [];
  addParts(entity, leaves);
  return leaves;
}

function addParts(entity: MimeEntity, leaves: MessagePart[]): void {
  if (entity.parts.length === 0) leaves.push(...describeLeaf(entity));
  else
    for (const part of [...entity.parts, ...entity.outside])
      if (!isEmptyMultipart(part)) addParts(part, leaves);
}

/** Some senders begin a multipart that they do not fill, or whose parts bear the boundary around it. */
function isEmptyMultipart({ contentType, parts, bodyBytes }: MimeEntity): boolean {
  return contentType.type === 'multipart' && parts.length === 0 && !bodyBytes.some((byte) => byte > 0x20);
}

function describeLeaf(entity: MimeEntity): MessagePart[] {
  const leaf = describePart(entity);
  if (!leaf.isText || leaf.mediaType !== 'text/plain') return [leaf];
  const octets = readSmallBody(entity);
  const files = octets === undefined ? [] : findUuencoded(octets);
  if (octets === undefined || files.length === 0) return [leaf];
  const rest = withoutFiles(octets, files);
  const text = () => decodeEntityText(entity, Buffer.from(rest, 'latin1')).text;
  return [{ ...leaf, text }, ...files.map((file) => describeFile(entity, file))];
}

/** A text that is encoded has to be decoded to be searched. */
const maxSearchedBytes = 1_048_576;
const beginLine = Buffer.from('begin');

/** The octets of a text in which a file may begin, as Latin-1. */
function readSmallBody(entity: MimeEntity): string | undefined {
  const isEncoded = /^(?:base64|quoted-printable)$/.test(entity.transferEncoding);
  if (isEncoded && entity.bodyBytes.length > maxSearchedBytes) return undefined;
  const body = decodeBody(entity);
  return body.includes(beginLine) ? body.toString('latin1') : undefined;
}

function withoutFiles(octets: string, files: readonly UuencodedFile[]): string {
  const ends = [0, ...files.map(({ end }) => end)];
  const starts = [...files.map(({ start }) => start), octets.length];
  return ends.map((end, index) => octets.slice(end, starts[index])).join('');
}

function describeFile(entity: MimeEntity, { name, content }: UuencodedFile): MessagePart {
  const fileName = cleanFileName(decodeText(Buffer.from(name, 'latin1')).text);
  return {
    entity,
    mediaType: 'application/octet-stream',
    ...(fileName === '' ? {} : { fileName }),
    isText: false,
    content: () => content,
    text: () => decodeText(content).text,
    faults: () => [],
  };
}

function describePart(entity: MimeEntity): MessagePart {
  // A multipart in which nothing delimits a part is the text that its sender wrote.
  const mediaType = entity.contentType.type === 'multipart' ? 'text/plain' : entity.contentType.mediaType;
  const name = readFileName(entity);
  const fileName = name === '' ? '' : withExtension(name, mediaType);
  const title = toPlainLine(decodeWords(entity.header('content-description') ?? ''));
  const contentId = (entity.header('content-id') ?? '').replace(/^\s*<|>\s*$/g, '').trim();
  const isReadable = mediaType === 'text/plain' || mediaType === 'text/html';
  const isText = isReadable && fileName === '' && entity.disposition?.value !== 'attachment';
  return {
    entity,
    mediaType,
    ...(fileName === '' ? {} : { fileName }),
    ...(title === '' ? {} : { title }),
    ...(contentId === '' ? {} : { contentId }),
    isText,
    content: () => decodeBody(entity),
    text: () => readPlain(entity),
    faults: () => findFaults(entity, isText),
  };
}

function readPlain(entity: MimeEntity): string {
  const { mediaType, parameters } = entity.contentType;
  const text = readText(entity);
  if (mediaType !== 'text/plain' || parameters.get('format')?.toLowerCase() !== 'flowed') return text;
  return joinFlowed(text, parameters.get('delsp')?.toLowerCase() === 'yes');
}

/** The sender's file name, cleaned; empty if there is none. */
function readFileName({ disposition, contentType }: MimeEntity): string {
  const given = [
    disposition?.parameters.get('filename'),
    contentType.parameters.get('name'),
    disposition?.parameters.get('name'),
    contentType.parameters.get('filename'),
  ];
  return given.map((name) => cleanFileName(name ?? '')).find((name) => name !== '') ?? '';
}

const singleFields = ['content-type', 'content-transfer-encoding', 'content-disposition', 'content-id'];

function findFaults(entity: MimeEntity, isText: boolean): PartFault[] {
  const faults: PartFault[] = [];
  if (hasRepeatedField(entity)) faults.push('repeated-field');
  if (entity.headerFields.some((field) => isContentField(field) && hasStrayLineEnd(field)))
    faults.push('stray-line-end');
  if (!isTransferEncoding(entity.transferEncoding)) faults.push('unknown-encoding');
  if (entity.transferEncoding === 'base64') {
    if (!isBase64(entity.bodyBytes)) faults.push('not-encoded');
    else if (endOfBase64(entity.bodyBytes) < entity.bodyBytes.length) faults.push('text-after-base64');
  }
  const isRead = isText && entity.bodyBytes.length <= maxSearchedBytes;
  const { fault } = isRead ? decodeEntityText(entity, decodeBody(entity)) : { fault: undefined };
  return fault === undefined ? faults : [...faults, fault];
}

/** True if a field of which one is allowed has two different values, of which readers may take either. */
export function hasRepeatedField(entity: MimeEntity): boolean {
  return singleFields.some((name) => new Set(entity.headers(name)).size > 1);
}

/**
 * The part of a message that is its text: the first one to be read that is not blank, of several alternatives
 * the text/plain. Undefined if there is no text.
 */
export function findBodyText(entity: MimeEntity, parts: readonly MessagePart[]): MessagePart | undefined {
  const texts = parts.filter((part) => part.isText);
  const filled = texts.filter((part) => !isBlank(part));
  const found = filled.length === 0 ? undefined : findIn(entity, filled);
  return found ?? filled[0] ?? texts[0];
}

/** A text of more than this is not blank. */
const maxBlankBytes = 100_000;

function isBlank(part: MessagePart): boolean {
  if (part.entity.bodyBytes.length > maxBlankBytes) return false;
  const text = part.text();
  return part.mediaType === 'text/html' ? isBlankHtml(text) : text.trim() === '';
}

const maxBlankHtml = 10_000;

/** Markup alone shows nothing, but an image is something. */
function isBlankHtml(html: string): boolean {
  if (html.length > maxBlankHtml || /<(?:img|svg|object|table)\b/i.test(html)) return false;
  const body = html.replaceAll(/<(style|script|title)\b[\s\S]*?<\/\1>|<[^>]*>|&nbsp;/gi, '');
  return body.trim() === '';
}

function findIn(entity: MimeEntity, texts: readonly MessagePart[]): MessagePart | undefined {
  if (entity.parts.length === 0) return texts.find((part) => part.entity === entity);
  const found = entity.parts.flatMap((part) => findIn(part, texts) ?? []);
  const isChoice = entity.contentType.subtype === 'alternative';
  return (isChoice ? found.find(({ mediaType }) => mediaType === 'text/plain') : undefined) ?? found[0];
}

/**
 * Joins the lines of a text/plain of `format=flowed` (RFC 3676 §4): a line that ends in a blank goes on in
 * the next one of the same depth of quotes, and a blank that was put before a line is removed. With
 * `deletesBlank` the blank at the end goes, too. Line ends are CRLF.
 */
function joinFlowed(text: string, deletesBlank: boolean): string {
  const paragraphs: { depth: number; text: string }[] = [];
  let isOpen = false;
  for (const line of text.split(/\r\n|\n/)) {
    const depth = /^>*/.exec(line)?.[0].length ?? 0;
    const rest = line.slice(depth);
    const content = rest.startsWith(' ') ? rest.slice(1) : rest;
    const last = paragraphs.at(-1);
    const isSignature = content === '-- ';
    const isFlowed = content.endsWith(' ') && !isSignature;
    const part = isFlowed && deletesBlank ? content.slice(0, -1) : content;
    if (isOpen && last?.depth === depth && !isSignature) last.text += part;
    else paragraphs.push({ depth, text: part });
    isOpen = isFlowed;
  }
  return paragraphs
    .map(({ depth, text: one }) => (depth === 0 ? one : `${'>'.repeat(depth)} ${one}`))
    .join('\r\n');
}
