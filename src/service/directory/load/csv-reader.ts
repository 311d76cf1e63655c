import { viewAsBuffer } from '../../../core/index.ts';
import { DirectoryError } from '../errors.ts';

/** One row of a table. */
export interface CsvRow {
  /** The number of its first line, starting at 1. */
  readonly line: number;
  /** The values; columns that are not wanted may be empty texts. */
  readonly fields: readonly string[];
  /** True if quotes are out of place; there are no fields then. */
  readonly isMisquoted?: boolean;
  /** True for the last row when the file ends without an end of line. */
  readonly isUnended?: boolean;
}

export interface CsvOptions {
  readonly delimiter: string;
  readonly maxRowBytes: number;
  /**
   * Columns whose values are wanted, by position; others may come as empty texts, which saves time in wide
   * files.
   */
  readonly wanted?: readonly boolean[];
  /** The number of the first line; 1 by default. */
  readonly firstLine?: number;
  /** Columns of every row; without it rows may have any number. */
  readonly columnCount?: number;
}

/**
 * Reads comma-separated UTF-8 (RFC 4180) in pieces as they arrive: quoted fields may hold delimiters,
 * doubled quotes and ends of line; ends of line are LF or CRLF. A pair of quotes within a field that does
 * not begin with one belongs to the text. Bytes that are not UTF-8 become U+FFFD. A row with misplaced
 * quotes is reported and reading continues with the line after its first one: a quote that opens by mistake
 * is closed by one of a later row or not at all, and the rows between are good. For the same reason a row
 * of several lines counts as misquoted if it has more than `maxRowBytes` or not `columnCount` columns.
 * Throws DIRECTORY_FILE_BROKEN for an endless line, and for a quote that is never closed and has no good
 * row after it: the file may have been cut short there.
 */
export class CsvReader {
  #rest: Buffer = Buffer.alloc(0);
  #line: number;
  /** The line of a quote that is never closed, until a good row follows. */
  #unclosedAt: number | undefined;
  readonly #maxRowBytes: number;
  readonly #columnCount: number | undefined;
  readonly #delimiter: number;
  readonly #delimiterText: string;
  readonly #wanted: readonly boolean[] | undefined;
  #row: CsvRow = { line: 0, fields: [] };

  constructor({ delimiter, maxRowBytes, wanted, firstLine, columnCount }: CsvOptions) {
    this.#line = firstLine ?? 1;
    this.#maxRowBytes = maxRowBytes;
    this.#columnCount = columnCount;
    this.#delimiter = delimiter.charCodeAt(0);
    this.#delimiterText = delimiter;
    this.#wanted = wanted;
  }

  /**
   * The rows that are complete after this piece, one after the other; to be read to the end before the next
   * piece.
   */
  push(piece: Uint8Array): Generator<CsvRow> {
    const bytes = viewAsBuffer(piece);
    return this.#read(this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]), false);
  }

  /** The last row, if the file does not end with an end of line. */
  end(): Generator<CsvRow> {
    const rest = this.#rest.at(-1) === endMark ? this.#rest.subarray(0, -1) : this.#rest;
    return this.#read(rest, true);
  }

  *#read(bytes: Buffer, isLast: boolean): Generator<CsvRow> {
    let position = 0;
    // Where the next quote is, so that a line is searched for it once.
    let quoteAt = bytes.indexOf(quote);
    while (position < bytes.length) {
      const lineEnd = bytes.indexOf(lineFeed, position);
      const isUnended = lineEnd < 0;
      let end = isUnended ? bytes.length : lineEnd;
      if (quoteAt >= 0 && quoteAt < position) quoteAt = bytes.indexOf(quote, position);
      if (quoteAt >= 0 && quoteAt < end) {
        const next = this.#readQuoted(bytes, position, isLast);
        if (next < 0) break;
        if (this.#row.isMisquoted !== true) this.#noteGoodRow();
        yield this.#row;
        position = next;
        continue;
      }
      if (isUnended && !isLast) break;
      const next = end + 1;
      if (end > position && bytes[end - 1] === carriageReturn) end--;
      if (end > position) {
        const fields = bytes.toString('utf8', position, end).split(this.#delimiterText);
        this.#row = { line: this.#line, fields, isUnended };
        this.#noteGoodRow();
        yield this.#row;
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
    if (this.#unclosedAt === undefined) return;
    const count = this.#row.fields.length;
    if (count === (this.#columnCount ?? count)) this.#unclosedAt = undefined;
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
    const fields: string[] = [];
    let lines = 1;
    let position = start;
    for (;;) {
      const isWanted = this.#wanted === undefined || this.#wanted[fields.length] !== false;
      let end: number;
      // Some programs write a blank between a delimiter and a quote.
      const opens = this.#skipBlanks(bytes, position);
      if (bytes[opens] === quote) position = opens;
      if (bytes[position] === quote) {
        const close = findClosingQuote(bytes, position + 1);
        if (close < 0) return -1;
        end = this.#skipBlanks(bytes, close + 1);
        if (end >= bytes.length && !isLast) return -1;
        const value = isWanted ? bytes.toString('utf8', position + 1, close) : '';
        fields.push(value.includes('"') ? value.replaceAll('""', '"') : value);
        lines += countOf(lineFeed, bytes, position + 1, close);
      } else {
        end = findFieldEnd(bytes, position, this.#delimiter);
        if (end >= bytes.length && !isLast) return -1;
        const isCut = bytes[end] === lineFeed && end > position && bytes[end - 1] === carriageReturn;
        const stop = isCut ? end - 1 : end;
        if (countOf(quote, bytes, position, stop) % 2 === 1) return this.#skipMisquoted(bytes, start, isLast);
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
      this.#row = { line: this.#line, fields, isUnended };
      this.#line += lines;
      return end + 1;
    }
  }

  #skipBlanks(bytes: Uint8Array, from: number): number {
    let at = from;
    while (bytes[at] === blank || (bytes[at] === tab && this.#delimiter !== tab)) at++;
    return at;
  }

  /** Skips the first line of a row. */
  #skipMisquoted(bytes: Buffer, start: number, isLast: boolean): number {
    const end = bytes.indexOf(lineFeed, start);
    if (end < 0 && !isLast) return -1;
    this.#row = { line: this.#line, fields: [], isMisquoted: true };
    this.#line++;
    return end < 0 ? bytes.length : end + 1;
  }

  #fail(line: number, what: string): never {
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', `The row that starts at line ${line} ${what}`);
  }
}

const quote = 0x22;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const blank = 0x20;
const tab = 0x09;
/** A file of DOS may end with it. */
const endMark = 0x1a;

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

function countOf(byte: number, bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) if (bytes[at] === byte) count++;
  return count;
}
