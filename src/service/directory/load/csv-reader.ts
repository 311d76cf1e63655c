import { viewAsBuffer } from '../../../core/index.ts';
import { DirectoryError } from '../errors.ts';

/** One row of a table. The reader has one such object, which is the next row as soon as that is read. */
export interface CsvRow {
  /** The number of its first line, starting at 1. */
  readonly line: number;
  /** The values as texts, made when they are asked for; columns that are not wanted may be empty texts. */
  readonly fields: readonly string[];
  /** True if quotes are out of place; there are no fields then. */
  readonly isMisquoted?: boolean;
  /** True for the last row when the file ends without an end of line. */
  readonly isUnended?: boolean;
  /** The same values as bytes, if the row is printable ASCII without quotes. */
  readonly plain?: PlainRow | undefined;
}

/** A row as bytes: field `n` is `bytes` from `spans[2n]` up to `spans[2n + 1]`. */
export interface PlainRow {
  readonly bytes: Buffer;
  readonly spans: Uint32Array;
  readonly fieldCount: number;
}

export interface CsvOptions {
  readonly delimiter: string;
  readonly maxRowBytes: number;
  /** Columns whose values are wanted, by position; others may come as empty texts, which saves time in wide files. */
  readonly wanted?: readonly boolean[];
  /** The number of the first line; 1 by default. */
  readonly firstLine?: number;
  /** Columns of every row; without it rows may have any number. */
  readonly columnCount?: number;
}

/**
 * Reads comma-separated UTF-8 (RFC 4180) in pieces as they arrive: quoted fields may hold delimiters, doubled quotes
 * and ends of line; ends of line are LF or CRLF. Bytes that are not UTF-8 become U+FFFD. A row with misplaced quotes is
 * reported and reading continues with the line after its first one: a quote that opens by mistake is closed by one of a
 * later row or not at all, and the rows between are good. For the same reason a row of several lines counts as misquoted if it
 * has more than `maxRowBytes` or not `columnCount` columns. Throws DIRECTORY_FILE_BROKEN for an endless line, and for a quote
 * that is never closed and has no good row after it: the file may have been cut short there.
 */
export class CsvReader {
  #rest: Buffer = Buffer.alloc(0);
  #line: number;
  /** The line of a quote that is never closed, until a good row follows. */
  #unclosedAt: number | undefined;
  readonly #maxRowBytes: number;
  readonly #columnCount: number | undefined;
  readonly #delimiter: number;
  readonly #kinds: Uint8Array;
  readonly #row: RowView;

  constructor({ delimiter, maxRowBytes, wanted, firstLine, columnCount }: CsvOptions) {
    this.#line = firstLine ?? 1;
    this.#maxRowBytes = maxRowBytes;
    this.#columnCount = columnCount;
    this.#delimiter = delimiter.charCodeAt(0);
    this.#kinds = kindsFor(this.#delimiter);
    this.#row = new RowView(delimiter, wanted);
  }

  /** The rows that are complete after this piece, one after the other; to be read to the end before the next piece. */
  push(piece: Uint8Array): Generator<CsvRow> {
    const bytes = viewAsBuffer(piece);
    return this.#read(this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]), false);
  }

  /** The last row, if the file does not end with an end of line. */
  end(): Generator<CsvRow> {
    return this.#read(this.#rest, true);
  }

  *#read(bytes: Buffer, isLast: boolean): Generator<CsvRow> {
    const row = this.#row;
    row.bytes = bytes;
    let position = 0;
    while (position < bytes.length) {
      let end = this.#scan(bytes, position);
      if (end === quoted) {
        row.isPlain = false;
        const next = this.#readQuoted(bytes, position, isLast);
        if (next < 0) break;
        if (!row.isMisquoted) this.#noteGoodRow();
        yield row;
        position = next;
        continue;
      }
      const isUnended = end === bytes.length;
      if (isUnended && !isLast) break;
      const next = end + 1;
      if (end > position && bytes[end - 1] === carriageReturn) end--;
      if (end > position) {
        row.settle(this.#line, position, end, isUnended);
        this.#noteGoodRow();
        yield row;
      }
      this.#line++;
      position = next;
    }
    this.#rest = position >= bytes.length ? bytes.subarray(0, 0) : bytes.subarray(position);
    if (this.#rest.length > this.#maxRowBytes) this.#fail(this.#line, 'is longer than any row may be');
    if (isLast && this.#unclosedAt !== undefined)
      this.#fail(this.#unclosedAt, 'has a quote that is never closed');
  }

  #noteGoodRow(): void {
    if (
      this.#unclosedAt !== undefined &&
      this.#row.fieldCount === (this.#columnCount ?? this.#row.fieldCount)
    )
      this.#unclosedAt = undefined;
  }

  /** Finds the fields of a row without quotes. Returns where its line ends, or `quoted` if it has a quote. */
  #scan(bytes: Uint8Array, start: number): number {
    const row = this.#row;
    const kinds = this.#kinds;
    let { spans } = row;
    let next = 1;
    let isPlain = true;
    let at = start;
    spans[0] = start;
    for (; at < bytes.length; at++) {
      const kind = kinds[bytes[at] as number] as number;
      if (kind === printable) continue;
      if (kind === delimiterKind) {
        if (next + 3 > spans.length) spans = row.enlarge();
        spans[next] = at;
        spans[next + 1] = at + 1;
        next += 2;
      } else if (kind === lineFeedKind) break;
      else if (kind === quoteKind) return quoted;
      else if (kind !== carriageReturnKind || bytes[at + 1] !== lineFeed) isPlain = false;
    }
    spans[next] = at > start && bytes[at - 1] === carriageReturn ? at - 1 : at;
    row.fieldCount = (next + 1) / 2;
    row.isPlain = isPlain;
    return at;
  }

  /** Reads one row that has quotes; returns where the next one starts, or -1 if more bytes are needed. */
  #readQuoted(bytes: Buffer, start: number, isLast: boolean): number {
    const next = this.#readClosed(bytes, start, isLast);
    if (next >= 0 || (!isLast && bytes.length - start <= this.#maxRowBytes)) return next;
    if (isLast) this.#unclosedAt = this.#line;
    return this.#skipMisquoted(bytes, start, isLast);
  }

  /** The same; -1 also if a quote is not closed in these bytes. */
  #readClosed(bytes: Buffer, start: number, isLast: boolean): number {
    const row = this.#row;
    const fields: string[] = [];
    let lines = 1;
    let position = start;
    for (;;) {
      const isWanted = row.isWanted(fields.length);
      let end: number;
      if (bytes[position] === quote) {
        const close = findClosingQuote(bytes, position + 1);
        if (close < 0) return -1;
        if (close + 1 >= bytes.length && !isLast) return -1;
        const value = isWanted ? bytes.toString('utf8', position + 1, close) : '';
        fields.push(value.includes('"') ? value.replaceAll('""', '"') : value);
        lines += countLineFeeds(bytes, position + 1, close);
        end = close + 1;
      } else {
        end = findFieldEnd(bytes, position, this.#delimiter);
        if (end >= bytes.length && !isLast) return -1;
        const isCut = bytes[end] === lineFeed && end > position && bytes[end - 1] === carriageReturn;
        const stop = isCut ? end - 1 : end;
        if (bytes.subarray(position, stop).includes(quote)) return this.#skipMisquoted(bytes, start, isLast);
        fields.push(isWanted ? bytes.toString('utf8', position, stop) : '');
      }
      if (bytes[end] === this.#delimiter) {
        position = end + 1;
        continue;
      }
      if (bytes[end] === carriageReturn) {
        if (end + 1 >= bytes.length && !isLast) return -1;
        end++;
      }
      if (end < bytes.length && bytes[end] !== lineFeed) return this.#skipMisquoted(bytes, start, isLast);
      const isUnended = end >= bytes.length;
      const hasAllColumns = isUnended || fields.length === (this.#columnCount ?? fields.length);
      if (lines > 1 && (!hasAllColumns || end - start > this.#maxRowBytes))
        return this.#skipMisquoted(bytes, start, isLast);
      row.settleFields(this.#line, fields, isUnended);
      this.#line += lines;
      return end + 1;
    }
  }

  /** Skips the first line of a row. */
  #skipMisquoted(bytes: Buffer, start: number, isLast: boolean): number {
    const end = bytes.indexOf(lineFeed, start);
    if (end < 0 && !isLast) return -1;
    this.#row.settleFields(this.#line, [], false);
    this.#row.isMisquoted = true;
    this.#line++;
    return end < 0 ? bytes.length : end + 1;
  }

  #fail(line: number, what: string): never {
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', `The row that starts at line ${line} ${what}`);
  }
}

class RowView implements CsvRow, PlainRow {
  line = 0;
  isMisquoted = false;
  isUnended = false;
  isPlain = false;
  fieldCount = 0;
  bytes: Buffer = Buffer.alloc(0);
  spans = new Uint32Array(128);
  #start = 0;
  #end = 0;
  #fields: readonly string[] | undefined;
  readonly #delimiter: string;
  readonly #wanted: readonly boolean[] | undefined;

  constructor(delimiter: string, wanted: readonly boolean[] | undefined) {
    this.#delimiter = delimiter;
    this.#wanted = wanted;
  }

  get plain(): PlainRow | undefined {
    return this.isPlain ? this : undefined;
  }

  get fields(): readonly string[] {
    this.#fields ??= this.bytes.toString('utf8', this.#start, this.#end).split(this.#delimiter);
    return this.#fields;
  }

  isWanted(column: number): boolean {
    return this.#wanted === undefined || this.#wanted[column] === true;
  }

  /** Makes the scanned fields the current row. */
  settle(line: number, start: number, end: number, isUnended: boolean): void {
    this.line = line;
    this.#start = start;
    this.#end = end;
    this.#fields = undefined;
    this.isUnended = isUnended;
    this.isMisquoted = false;
  }

  settleFields(line: number, fields: readonly string[], isUnended: boolean): void {
    this.settle(line, 0, 0, isUnended);
    this.#fields = fields;
    this.fieldCount = fields.length;
  }

  enlarge(): Uint32Array<ArrayBuffer> {
    const larger = new Uint32Array(this.spans.length * 2);
    larger.set(this.spans);
    this.spans = larger;
    return larger;
  }
}

const quote = 0x22;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const quoted = -1;

const printable = 0;
const delimiterKind = 1;
const lineFeedKind = 2;
const quoteKind = 3;
const carriageReturnKind = 4;
const otherKind = 5;

function kindsFor(delimiter: number): Uint8Array {
  const kinds = Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 0x20 || byte > 0x7e ? otherKind : printable,
  );
  kinds[lineFeed] = lineFeedKind;
  kinds[quote] = quoteKind;
  kinds[carriageReturn] = carriageReturnKind;
  kinds[delimiter] = delimiterKind;
  return kinds;
}

function findClosingQuote(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(quote, from);
  while (at >= 0 && bytes[at + 1] === quote) at = bytes.indexOf(quote, at + 2);
  return at;
}

function findFieldEnd(bytes: Buffer, from: number, delimiter: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== delimiter && bytes[at] !== lineFeed) at++;
  return at;
}

function countLineFeeds(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) if (bytes[at] === lineFeed) count++;
  return count;
}
