import type { ProviderRecord } from '../provider-record/index.ts';
import { JsonOutput } from './json-output.ts';
import { readFormat } from './read-record.ts';
import { RecordCursor, type RecordContext } from './record-cursor.ts';
import { locatedRows } from './text-column.ts';
import type { ProviderIndex } from './types.ts';

const comma = 0x2c;
/** Of the first page of a format; a page that is larger than expected grows, which costs a copy. */
const recordBytes = 640;
const maxRecordBytes = 4 * recordBytes;
const leastMeasured = 10;

type Format = (cursor: RecordCursor) => Prepared['write'];

/** A format made ready for an index. */
interface Prepared {
  readonly cursor: RecordCursor;
  readonly write: (at: number, page: never) => void;
}

/**
 * Writes and reads records of an index, or of two, where the row numbers of the second follow those of the
 * first.
 */
export function createRecordWriter(
  first: RecordContext,
  second?: RecordContext,
): Pick<ProviderIndex, 'writeRecords' | 'record' | 'records'> {
  const known = new Map<Format, Prepared[]>();
  /** By format, bytes per record of the page with the longest so far. */
  const sizes = new Map<Format, number>();
  const end = second === undefined ? Number.POSITIVE_INFINITY : first.rowCount;

  function prepare(format: Format): readonly Prepared[] {
    let prepared = known.get(format);
    if (prepared === undefined) {
      prepared = (second === undefined ? [first] : [first, second]).map((context) => {
        const cursor = new RecordCursor(context, noOutput);
        return { cursor, write: format(cursor) };
      });
      known.set(format, prepared);
    }
    return prepared;
  }

  function put(rows: Uint32Array, format: Format, page: never, output: JsonOutput): void {
    const [ofFirst, ofSecond = ofFirst] = prepare(format) as [Prepared, Prepared?];
    for (let from = 0, to = 0; from < rows.length; from = to) {
      const isFirst = (rows[from] as number) < end;
      while (to < rows.length && to - from < locatedRows && (rows[to] as number) < end === isFirst) to++;
      const own = rows.subarray(from, to);
      const { cursor, write } = isFirst ? ofFirst : ofSecond;
      cursor.locate(isFirst ? own : own.map((row) => row - end), output);
      for (let at = from; at < to; at++) {
        if (at > 0) output.putByte(comma);
        cursor.at = at - from;
        write(at, page);
      }
    }
  }

  function records(rows: Uint32Array): ProviderRecord[] {
    const read: ProviderRecord[] = [];
    put(rows, readFormat, read as never, new JsonOutput(rows.length));
    return read;
  }

  return {
    writeRecords(rows, format, page, envelope) {
      const [before, after] = [envelope?.before.length ?? 0, envelope?.after.length ?? 0];
      const size = sizes.get(format) ?? recordBytes;
      const output = new JsonOutput(before + rows.length * size + after);
      if (envelope !== undefined) output.putBytes(envelope.before);
      put(rows, format, page as never, output);
      if (envelope !== undefined) output.putBytes(envelope.after);
      const written = output.written.length - before - after;
      // A few records say little about a thousand.
      if (rows.length >= leastMeasured && written > rows.length * size)
        sizes.set(format, Math.min(Math.ceil(written / rows.length), maxRecordBytes));
      return output.written;
    },
    records,
    record: (row) => records(Uint32Array.of(row))[0] as ProviderRecord,
  };
}

const noOutput = new JsonOutput(0);
