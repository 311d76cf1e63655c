import type { Readable } from 'node:stream';
import { errorText } from '../../../core/index.ts';
import { DirectoryError } from '../errors.ts';
import { maxRowBytes } from '../limits.ts';
import { partText } from './blank-values.ts';
import { CsvReader, type CsvRow } from './csv-reader.ts';
import { normalizeColumn } from './formats/format.ts';

/** A file whose header has been read. */
export interface OpenTable {
  /** Normalized column names. */
  readonly header: readonly string[];
  /** Of the header as written; one more without a name follows if all rows end with a delimiter. */
  readonly statedColumns: number;
  /**
   * The rows after the header, in portions as they arrive; each portion is read to its end before the next.
   * `wanted` names the columns that are needed.
   */
  rows(wanted: readonly boolean[]): AsyncIterable<Iterable<CsvRow>>;
  close(): void;
}

const delimiters = [',', '\t', ';', '|'];
const lineFeed = 0x0a;
/** Of the first rows, to see their form. */
const sampleBytes = 65_536;

/**
 * Reads the header of a text table and stands ready for its rows. The delimiter is the one that the header
 * has most of. Throws DIRECTORY_FILE_BROKEN if there is no header, or if the stream fails (a cut-off .gz, a
 * bad .zip).
 */
export async function openTable(stream: Readable): Promise<OpenTable> {
  try {
    return await readHeader(stream);
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

async function readHeader(stream: Readable): Promise<OpenTable> {
  const pieces = readPieces(stream)[Symbol.asyncIterator]();
  let start = await completeLines(1, Buffer.alloc(0), pieces);
  const stated = statedDelimiter(start);
  // The header is the next line then.
  if (stated !== undefined)
    start = await completeLines(1, start.subarray(start.indexOf(lineFeed) + 1), pieces);
  const end = start.indexOf(lineFeed);
  const headerBytes = end < 0 ? start : start.subarray(0, end);
  if (isUtf16(headerBytes))
    throw new DirectoryError(
      'DIRECTORY_FILE_BROKEN',
      'The text is UTF-16, not UTF-8: save it again as "CSV UTF-8"',
    );
  if (headerBytes.includes(0))
    throw new DirectoryError(
      'DIRECTORY_FILE_BROKEN',
      'The file is no text: there are zero bytes in its first line',
    );
  const headerLine = headerBytes
    .toString()
    .replace(/\r$/, '')
    .replace(/^\ufeff/, '');
  if (headerLine === '')
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', 'The file is empty or starts with an empty line');
  if (end < 0 && headerLine.includes('\r'))
    throw new DirectoryError(
      'DIRECTORY_FILE_BROKEN',
      'The lines end with CR alone, not with LF or CRLF: save it again as "CSV UTF-8"',
    );
  const delimiter = stated ?? findDelimiter(headerLine);
  const [headerRow] = new CsvReader({ delimiter, maxRowBytes }).push(Buffer.from(`${headerLine}\n`));
  const header = (headerRow?.fields ?? []).map(normalizeColumn);
  start = end < 0 ? Buffer.alloc(0) : await completeLines(2, start.subarray(end + 1), pieces);
  const statedColumns = header.length;
  if (hasTrailingDelimiter(start, header.length, delimiter)) header.push('');
  return {
    header,
    statedColumns,
    rows: (wanted) =>
      readRest(
        pieces,
        start,
        new CsvReader({
          delimiter,
          maxRowBytes,
          wanted: wanted.map((isWanted, at) => isWanted || header[at] === ''),
          firstLine: stated === undefined ? 2 : 3,
          columnCount: header.length,
        }),
      ),
    close: () => stream.destroy(),
  };
}

/** Reads on until there are so many whole lines, or more than any row may have. */
async function completeLines(
  count: number,
  start: Buffer,
  pieces: AsyncIterator<Uint8Array>,
): Promise<Buffer> {
  let bytes = start;
  while (!hasLines(count, bytes) && bytes.length <= maxRowBytes) {
    const piece = await pieces.next();
    if (piece.done === true) break;
    bytes = Buffer.concat([bytes, piece.value]);
  }
  return bytes;
}

function hasLines(count: number, bytes: Buffer): boolean {
  let at = -1;
  for (let found = 0; found < count; found++) {
    at = bytes.indexOf(lineFeed, at + 1);
    if (at < 0) return false;
  }
  return true;
}

/**
 * True if the first two rows end with a delimiter that the header does not have: some programs write one in
 * every row. Decided once for a file: a row that has one alone may as well be one whose columns have moved.
 */
function hasTrailingDelimiter(rows: Buffer, columnCount: number, delimiter: string): boolean {
  const found = [...new CsvReader({ delimiter, maxRowBytes }).push(rows.subarray(0, sampleBytes))].slice(
    0,
    2,
  );
  return (
    found.length === 2 &&
    found.every(({ fields }) => fields.length === columnCount + 1 && fields.at(-1) === '')
  );
}

/** True for a row of blanks alone, as spreadsheets leave them behind the last one. */
export function isBlankRow({ fields }: CsvRow): boolean {
  return fields.every((text) => text.trim() === '');
}

/**
 * Why a row cannot be read, if it cannot. A row cut short at the very end of the file means that the file
 * itself was cut short: throws DIRECTORY_FILE_BROKEN.
 */
export function findRowFault(
  row: CsvRow,
  { header, statedColumns }: Pick<OpenTable, 'header' | 'statedColumns'>,
): 'quoting' | 'columns' | undefined {
  if (row.isMisquoted === true) return 'quoting';
  const count = row.fields.length;
  // A value where the header has no cell: the columns of the row have moved.
  if (count === header.length) {
    const hasMoved = count > statedColumns && partText(row.fields[statedColumns] ?? '') !== '';
    return hasMoved ? 'columns' : undefined;
  }
  if (row.isUnended === true && count < header.length) {
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', `The file ends within line ${row.line}`);
  }
  return 'columns';
}

/** True if a value is behind the last column with a name: a note, or the columns of the row have moved. */
export function hasUnnamedValue({ fields }: CsvRow, header: readonly string[]): boolean {
  for (let at = header.length - 1; at >= 0 && header[at] === ''; at--)
    if (partText(fields[at] ?? '') !== '') return true;
  return false;
}

/** A first line `sep=;` tells a spreadsheet the delimiter, and is no header. */
function statedDelimiter(start: Buffer): string | undefined {
  const end = start.indexOf(lineFeed);
  if (end < 0) return undefined;
  const line = start.toString('utf8', 0, Math.min(end, 32)).replace(/^\ufeff/, '');
  const found = /^"?sep\s*=\s*([,;|\t]|\\t)"?[,;|\t]*\r*$/i.exec(line);
  return found?.[1]?.replace('\\t', '\t');
}

/** By its byte order mark, or by the zero bytes of a header in ASCII, which are each second one. */
function isUtf16(header: Buffer): boolean {
  const mark = header.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff') return true;
  let [even, odd] = [0, 0];
  for (const [at, byte] of header.entries())
    if (byte === 0) {
      if (at % 2 === 0) even++;
      else odd++;
    }
  return (even === 0 || odd === 0) && (even + odd) * 3 > header.length;
}

function findDelimiter(header: string): string {
  const counts = delimiters.map((delimiter) => header.split(delimiter).length);
  return delimiters[counts.indexOf(Math.max(...counts))] ?? ',';
}

async function* readRest(
  pieces: AsyncIterator<Uint8Array>,
  first: Uint8Array,
  reader: CsvReader,
): AsyncGenerator<Iterable<CsvRow>> {
  yield reader.push(first);
  for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next())
    yield reader.push(piece.value);
  yield reader.end();
}

async function* readPieces(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    const text = `The file cannot be read to its end: ${errorText(error)}`;
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', text, { cause: error });
  }
}
