import { DirectoryError } from '../errors.ts';

/** One row of the file. `line` is the number of its first line, starting at 1. */
export interface CsvRow {
  readonly line: number;
  readonly fields: readonly string[];
  /** Set when quotes are out of place; `fields` is then empty. */
  readonly isMisquoted?: true;
  /** Set on the last row when the file ends without an end of line. */
  readonly isUnended?: true;
}

export interface CsvOptions {
  readonly delimiter: string;
  readonly maxRowLength: number;
  /** Columns whose values are wanted, by position; others come as empty texts, which saves time in wide files. */
  readonly wanted?: readonly boolean[];
  /** The number of the first line; 1 unless told. */
  readonly firstLine?: number;
}

/**
 * Reads comma-separated text (RFC 4180) in pieces as they arrive: quoted fields may hold delimiters, doubled quotes
 * and ends of line; ends of line are LF or CRLF. A row with misplaced quotes is reported and reading goes on with
 * the next line. Throws DIRECTORY_FILE_BROKEN for an endless row or a quote that is never closed.
 */
export class CsvReader {
  #rest = '';
  #line: number;
  readonly #options: CsvOptions;

  constructor(options: CsvOptions) {
    this.#options = options;
    this.#line = options.firstLine ?? 1;
  }

  /** The rows that are complete after this piece. */
  push(piece: string): CsvRow[] {
    return this.#read(this.#rest === '' ? piece : this.#rest + piece, false);
  }

  /** The last row, if the file does not end with an end of line. */
  end(): CsvRow[] {
    return this.#rest === '' ? [] : this.#read(this.#rest, true);
  }

  #read(text: string, isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    let position = 0;
    let quote = text.indexOf('"');
    while (position < text.length) {
      let end = text.indexOf('\n', position);
      const isUnended = end < 0;
      if (isUnended && !isLast) break;
      if (isUnended) end = text.length;
      if (quote >= 0 && quote < position) quote = text.indexOf('"', position);
      if (quote < 0 || quote > end) {
        const line = text.slice(position, text.charCodeAt(end - 1) === carriageReturn ? end - 1 : end);
        if (line !== '') this.#add(rows, line.split(this.#options.delimiter), isUnended);
        this.#line++;
        position = end + 1;
      } else {
        const next = this.#readQuoted(text, position, isLast, rows);
        if (next < 0) break;
        position = next;
      }
    }
    this.#rest = position >= text.length ? '' : text.slice(position);
    if (this.#rest.length > this.#options.maxRowLength) this.#fail('is longer than any row may be');
    return rows;
  }

  #add(rows: CsvRow[], fields: readonly string[], isUnended: boolean): void {
    rows.push(isUnended ? { line: this.#line, fields, isUnended } : { line: this.#line, fields });
  }

  /** Reads one row that has quotes; returns where the next one starts, or -1 if the text ends inside it. */
  #readQuoted(text: string, start: number, isLast: boolean, rows: CsvRow[]): number {
    const { delimiter, wanted } = this.#options;
    const fields: string[] = [];
    let lines = 1;
    let position = start;
    for (;;) {
      const isWanted = wanted === undefined || wanted[fields.length] === true;
      let end: number;
      if (text.charCodeAt(position) === quoteCode) {
        const close = findClosingQuote(text, position + 1);
        if (close < 0) {
          if (isLast) this.#fail('has a quote that is never closed');
          return -1;
        }
        if (close + 1 >= text.length && !isLast) return -1;
        const value = isWanted ? text.slice(position + 1, close) : '';
        fields.push(value.includes('"') ? value.replaceAll('""', '"') : value);
        if (isWanted && value.includes('\n')) lines += countLineEnds(value);
        end = close + 1;
      } else {
        end = findFieldEnd(text, position, delimiter);
        if (end >= text.length && !isLast) return -1;
        const stop =
          text[end] === '\n' && text.charCodeAt(end - 1) === carriageReturn && end > position ? end - 1 : end;
        const value = text.slice(position, stop);
        if (value.includes('"')) return this.#skipMisquoted(text, position, isLast, rows, lines);
        fields.push(isWanted ? value : '');
      }
      if (text[end] === delimiter) {
        position = end + 1;
        continue;
      }
      if (text.charCodeAt(end) === carriageReturn) {
        if (end + 1 >= text.length && !isLast) return -1;
        end++;
      }
      if (end < text.length && text[end] !== '\n') return this.#skipMisquoted(text, end, isLast, rows, lines);
      this.#add(rows, fields, end >= text.length);
      this.#line += lines;
      return end + 1;
    }
  }

  #skipMisquoted(text: string, from: number, isLast: boolean, rows: CsvRow[], lines: number): number {
    const end = text.indexOf('\n', from);
    if (end < 0 && !isLast) return -1;
    rows.push({ line: this.#line, fields: [], isMisquoted: true });
    this.#line += lines;
    return end < 0 ? text.length : end + 1;
  }

  #fail(what: string): never {
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', `The row that starts at line ${this.#line} ${what}`);
  }
}

const quoteCode = 0x22;
const carriageReturn = 0x0d;

function findClosingQuote(text: string, from: number): number {
  let quote = text.indexOf('"', from);
  while (quote >= 0 && text.charCodeAt(quote + 1) === quoteCode) quote = text.indexOf('"', quote + 2);
  return quote;
}

function findFieldEnd(text: string, from: number, delimiter: string): number {
  const comma = text.indexOf(delimiter, from);
  const lineEnd = text.indexOf('\n', from);
  if (comma < 0) return lineEnd < 0 ? text.length : lineEnd;
  return lineEnd >= 0 && lineEnd < comma ? lineEnd : comma;
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
