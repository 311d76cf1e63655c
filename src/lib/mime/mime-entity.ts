import { viewAsBuffer } from '../../core/index.ts';
import { mendLineEnds } from './canonicalize.ts';
import { decodeBase64 } from './decode-base64.ts';
import { decodeQuotedPrintable } from './decode-quoted-printable.ts';
import { MimeError } from './errors.ts';
import { type HeaderField, type HeaderSection, readHeaderSection } from './header-fields.ts';
import { defaultMimeLimits, type MimeLimits } from './limits.ts';
import { type ParameterizedValue, parseParameters, stripComments } from './parameters.ts';
import { type SplitBody, splitParts } from './split-parts.ts';

/**
 * `Content-Type: text/plain; charset=utf-8` is type `text`, subtype `plain`, mediaType `text/plain`; all
 * lower-cased.
 */
export interface ContentType {
  readonly type: string;
  readonly subtype: string;
  readonly mediaType: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A message or a part of one: header fields and body as views on the bytes that were given. */
export interface MimeEntity {
  /** The bytes that the root of this tree was parsed from. */
  readonly source: Uint8Array;
  /** This entity's exact bytes, header section included. */
  readonly bytes: Uint8Array;
  /** The exact bytes after the blank line, still transfer-encoded. */
  readonly bodyBytes: Uint8Array;
  readonly headerFields: readonly HeaderField[];
  readonly contentType: ContentType;
  /** Content-Disposition, its value lower-cased (`attachment`, `inline`); undefined if absent. */
  readonly disposition: ParameterizedValue | undefined;
  /** Lower-cased; `7bit` if absent. */
  readonly transferEncoding: string;
  /**
   * The parts of a multipart, empty for anything else. Reading it may throw MIME_TOO_DEEP and
   * MIME_TOO_MANY_PARTS.
   */
  readonly parts: readonly MimeEntity[];
  /**
   * Of a multipart, what stands outside of its parts, as entities without a header section: behind the last
   * delimiter, or before the first, but for the words that senders put there for programs without MIME.
   * Throws as `parts`.
   */
  readonly outside: readonly MimeEntity[];
  /** The unfolded value of the first field of that name, in any case. */
  header(name: string): string | undefined;
  /** The unfolded values of all fields of that name, in order. */
  headers(name: string): string[];
}

/** Small messages are bounded by their depth alone. */
const freeSearchBytes = 1_048_576;

interface Tree {
  readonly source: Uint8Array;
  readonly limits: MimeLimits;
  partCount: number;
  fieldCount: number;
  searchedBytes: number;
}

/**
 * Parses a message or MIME entity lazily and without copying; the bytes must not be changed afterwards. Reads
 * leniently: only the limits make it throw (MIME_HEADER_TOO_LARGE here, the others on the way down the tree).
 */
export function parseEntity(bytes: Uint8Array, limits: Partial<MimeLimits> = {}): MimeEntity {
  const tree: Tree = {
    source: bytes,
    limits: { ...defaultMimeLimits, ...limits },
    partCount: 1,
    fieldCount: 0,
    searchedBytes: 0,
  };
  return new ParsedEntity(viewAsBuffer(bytes), tree, 1, { mediaType: 'text/plain' });
}

class ParsedEntity implements MimeEntity {
  readonly bytes: Buffer;
  readonly #tree: Tree;
  readonly #depth: number;
  readonly #defaultMediaType: string;
  readonly #section: HeaderSection;
  #byName: ReadonlyMap<string, readonly HeaderField[]> | undefined;
  #contentType: ContentType | undefined;
  #children: { readonly parts: readonly MimeEntity[]; readonly outside: readonly MimeEntity[] } | undefined;

  constructor(
    bytes: Buffer,
    tree: Tree,
    depth: number,
    { mediaType, hasHeader = true }: { readonly mediaType: string; readonly hasHeader?: boolean },
  ) {
    this.bytes = bytes;
    this.#tree = tree;
    this.#depth = depth;
    this.#defaultMediaType = mediaType;
    const { limits } = tree;
    const maxHeaderFields = Math.min(limits.maxHeaderFields, limits.maxTreeFields - tree.fieldCount);
    this.#section = hasHeader
      ? readHeaderSection(bytes, { ...limits, maxHeaderFields })
      : { fields: [], bodyStart: 0 };
    tree.fieldCount += this.#section.fields.length;
  }

  get source(): Uint8Array {
    return this.#tree.source;
  }

  get headerFields(): readonly HeaderField[] {
    return this.#section.fields;
  }

  get bodyBytes(): Buffer {
    return this.bytes.subarray(this.#section.bodyStart);
  }

  get contentType(): ContentType {
    this.#contentType ??= readContentType(this.header('content-type'), this.#defaultMediaType);
    return this.#contentType;
  }

  get disposition(): ParameterizedValue | undefined {
    const value = this.header('content-disposition');
    return value === undefined ? undefined : parseParameters(value);
  }

  get transferEncoding(): string {
    const [value = ''] = stripComments(this.header('content-transfer-encoding') ?? '').split(';', 1);
    const name = value.trim().toLowerCase();
    return name === '' ? '7bit' : (encodingNames.get(name.replaceAll(/[^a-z0-9]|s$/g, '')) ?? name);
  }

  get parts(): readonly MimeEntity[] {
    this.#children ??= this.#readChildren();
    return this.#children.parts;
  }

  get outside(): readonly MimeEntity[] {
    this.#children ??= this.#readChildren();
    return this.#children.outside;
  }

  header(name: string): string | undefined {
    return this.#fieldsNamed(name)[0]?.value;
  }

  headers(name: string): string[] {
    return this.#fieldsNamed(name).map((field) => field.value);
  }

  #fieldsNamed(name: string): readonly HeaderField[] {
    this.#byName ??= Map.groupBy(this.headerFields, (field) => field.name.toLowerCase());
    return this.#byName.get(name.toLowerCase()) ?? [];
  }

  #readChildren(): { readonly parts: readonly MimeEntity[]; readonly outside: readonly MimeEntity[] } {
    if (this.contentType.type !== 'multipart') return { parts: [], outside: [] };
    if (this.#depth >= this.#tree.limits.maxDepth)
      throw new MimeError('MIME_TOO_DEEP', 'Too many nested parts');
    const { parts, outside } = this.#split();
    this.#tree.partCount += parts.length + outside.length;
    if (this.#tree.partCount > this.#tree.limits.maxParts)
      throw new MimeError('MIME_TOO_MANY_PARTS', 'Too many parts');
    const inherited = this.contentType.subtype === 'digest' ? 'message/rfc822' : 'text/plain';
    const child = (bytes: Buffer, mediaType: string, hasHeader: boolean) =>
      new ParsedEntity(bytes, this.#tree, this.#depth + 1, { mediaType, hasHeader });
    return {
      parts: parts.map((bytes) => child(bytes, inherited, true)),
      outside: outside.filter(isContent).map((bytes) => child(bytes, 'text/plain', false)),
    };
  }

  /**
   * By the boundary that is named; where that delimits nothing, by that which the body shows. What is signed
   * is read as it is named only.
   */
  #split(): SplitBody {
    const named = this.contentType.parameters.get('boundary') ?? '';
    const body = this.#multipartBody();
    const isStrict = this.contentType.subtype === 'signed';
    if (isStrict) return named === '' ? nothing : this.#splitBy(body, named, isStrict);
    const split = this.#splitLeniently(body, named);
    if (split.parts.length > 0) return split;
    const mended = mendLineEnds(body);
    return mended === body ? nothing : this.#splitLeniently(mended, named);
  }

  #splitLeniently(body: Buffer, named: string): SplitBody {
    // RFC 2046 §5.1.1: a boundary does not end in a blank.
    for (const find of [() => named, () => named.trim(), () => findBoundary(body) ?? '']) {
      const boundary = find();
      const split = boundary === '' ? nothing : this.#splitBy(body, boundary, false);
      if (split.parts.length > 0) return split;
    }
    return nothing;
  }

  #splitBy(body: Buffer, boundary: string, isStrict: boolean): SplitBody {
    this.#tree.searchedBytes += body.length;
    if (this.#tree.searchedBytes > freeSearchBytes + this.#tree.source.length * this.#tree.limits.maxPasses) {
      throw new MimeError('MIME_TOO_DEEP', 'Too many nested parts around a large one');
    }
    return splitParts(body, boundary, { maxParts: this.#tree.limits.maxParts, isStrict });
  }

  /**
   * RFC 2045 §6.4 forbids to encode a multipart as a whole. Some senders do it nevertheless; more only say
   * so, and encode the parts alone, which must not be decoded twice.
   */
  #multipartBody(): Buffer {
    const body = this.bodyBytes;
    if (this.transferEncoding === 'base64')
      return findBoundary(body) === undefined ? decodeBase64(body) : body;
    if (this.transferEncoding !== 'quoted-printable') return body;
    return isEncodedMultipart(body) ? decodeQuotedPrintable(body) : body;
  }
}

const contentField = /^content-[\w-]{1,40}:.*(?:\r?\n[ \t].*)*/gim;

/** True if the sign before the value of a parameter is encoded, too. */
function isEncodedMultipart(body: Buffer): boolean {
  const fields = body.toString('latin1', 0, 65_536).match(contentField) ?? [];
  return fields.some((field) => field.includes('=3D'));
}

/** As senders quote and divide them, or put them into the plural. */
const encodingNames = new Map(
  ['7bit', '8bit', 'binary', 'base64', 'quoted-printable'].map((name) => [name.replace('-', ''), name]),
);

const nothing: SplitBody = { parts: [], outside: [] };

/** Anything but blanks, and what senders put before the first part for programs without MIME. */
function isContent(outside: Buffer): boolean {
  const start = outside.toString('latin1', 0, 1000);
  if (/\bMIME\b|multi-?part/i.test(start)) return false;
  return outside.some((byte) => byte > 0x20);
}

const mediaTypeForm = /^([!#$%&'*+.^_`|~\w-]+)\/([!#$%&'*+.^_`|~\w-]+)$/;

/** A missing or unreadable Content-Type counts as the default (RFC 2045 §5.2). */
function readContentType(value: string | undefined, defaultMediaType: string): ContentType {
  const read = parseParameters(value ?? '');
  const match = mediaTypeForm.exec(read.value.replaceAll(/\s/g, '')) ?? mediaTypeForm.exec(defaultMediaType);
  const type = match?.[1] ?? 'text';
  const subtype = match?.[2] ?? 'plain';
  return { type, subtype, mediaType: `${type}/${subtype}`, parameters: read.parameters };
}

const searchedBytes = 65_536;
const maxTries = 20;
const delimiterBeforeField = /(?:^|\n)--([^\r\n]{1,200}?)[ \t]*\r?\n(?=content-[a-z-]{1,40}[ \t]*:)/gi;
const lastDelimiter = /(?:^|\n)--([^\r\n]{1,200}?)--[ \t]*(?:\r?\n|$)/g;

/**
 * The boundary that the body of a multipart shows, where its header names none or a wrong one: that of a
 * delimiter before a Content field, else one that both begins a part and ends the last. Undefined if there is
 * none.
 */
function findBoundary(body: Buffer): string | undefined {
  const head = body.toString('latin1', 0, searchedBytes);
  for (const [, boundary = ''] of head.matchAll(delimiterBeforeField))
    if (isBoundary(boundary)) return boundary;
  const tail = body.length <= searchedBytes ? head : body.toString('latin1', body.length - searchedBytes);
  for (const [, boundary = ''] of [...tail.matchAll(lastDelimiter)].slice(0, maxTries)) {
    if (isBoundary(boundary) && beginsPart(head, boundary)) return boundary;
  }
  return undefined;
}

function beginsPart(head: string, boundary: string): boolean {
  const delimiter = `\n--${boundary}`;
  const text = `\n${head}`;
  for (let at = text.indexOf(delimiter); at >= 0; at = text.indexOf(delimiter, at + 1)) {
    if (/^[ \t]*\r?\n/.test(text.slice(at + delimiter.length, at + delimiter.length + 80))) return true;
  }
  return false;
}

/** A line of hyphens, as letters are signed with, is none. */
function isBoundary(text: string): boolean {
  return /[^\s-]/.test(text) && !text.endsWith('--');
}
