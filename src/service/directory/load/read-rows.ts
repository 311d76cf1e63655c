import type { Readable } from 'node:stream';
import { DirectoryError } from '../errors.ts';
import { maxRowLength } from '../limits.ts';
import { CsvReader, type CsvRow } from './csv-reader.ts';
import { normalizeColumn } from './formats/format.ts';

/** A file whose header has been read. */
export interface OpenTable {
  /** Normalized column names. */
  readonly header: readonly string[];
  /** The rows after the header, in portions as they arrive. `wanted` tells which columns are of interest. */
  rows(wanted: readonly boolean[]): AsyncIterable<readonly CsvRow[]>;
  close(): void;
}

const delimiters = [',', '\t', ';', '|'];

/**
 * Reads the header of a text table and stands ready for its rows. The delimiter is the one that the header has most
 * of. Throws DIRECTORY_FILE_BROKEN if there is no header, or if the stream fails (a cut-off .gz, a bad .zip).
 */
export async function openTable(stream: Readable): Promise<OpenTable> {
  const pieces = decode(stream)[Symbol.asyncIterator]();
  let start = '';
  while (!start.includes('\n') && start.length <= maxRowLength) {
    const piece = await pieces.next();
    if (piece.done === true) break;
    start += piece.value;
  }
  const end = start.indexOf('\n');
  const headerLine = (end < 0 ? start : start.slice(0, end)).replace(/\r$/, '').replace(/^\ufeff/, '');
  if (headerLine === '')
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', 'The file is empty or starts with an empty line');
  const delimiter = findDelimiter(headerLine);
  const [headerRow] = new CsvReader({ delimiter, maxRowLength }).push(`${headerLine}\n`);
  return {
    header: (headerRow?.fields ?? []).map(normalizeColumn),
    rows: (wanted) =>
      readRest(
        pieces,
        end < 0 ? '' : start.slice(end + 1),
        new CsvReader({ delimiter, maxRowLength, wanted, firstLine: 2 }),
      ),
    close: () => stream.destroy(),
  };
}

function findDelimiter(header: string): string {
  const counts = delimiters.map((delimiter) => header.split(delimiter).length);
  return delimiters[counts.indexOf(Math.max(...counts))] ?? ',';
}

async function* readRest(
  pieces: AsyncIterator<string>,
  first: string,
  reader: CsvReader,
): AsyncGenerator<readonly CsvRow[]> {
  yield reader.push(first);
  for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next())
    yield reader.push(piece.value);
  yield reader.end();
}

/** Text of a UTF-8 stream; bytes that are not UTF-8 become U+FFFD, by which their row is refused. */
async function* decode(stream: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  try {
    for await (const chunk of stream) yield decoder.decode(chunk as Uint8Array, { stream: true });
  } catch (error) {
    throw new DirectoryError('DIRECTORY_FILE_BROKEN', 'The file cannot be read to its end', { cause: error });
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}
