import type { SubIndex } from '../open-index.ts';
import type { Envelope, ProviderIndex } from '../types.ts';

const comma = Buffer.from(',');

/**
 * Writes records whose rows come from two indexes, where the row numbers of the second follow those of the
 * first: each run of rows is written by its own index, byte for byte as one index of both would write them.
 */
export function createMixedWriter(
  base: SubIndex,
  added: SubIndex,
): Pick<ProviderIndex, 'writeRecords' | 'paintRecords'> {
  const { rowCount } = base.context;

  function write(
    rows: Uint32Array,
    envelope: Envelope | undefined,
    writeRun: (index: ProviderIndex, own: Uint32Array, run: Run, envelope?: Envelope) => Uint8Array,
  ): Uint8Array {
    // Nearly every page is of one index, which then writes the envelope as well.
    if (rows.every((row) => row < rowCount))
      return writeRun(base.index, rows, { start: 0, end: rows.length, isAdded: false }, envelope);
    const pieces = runsOf(rows, rowCount).map((run) => {
      const own = rows.subarray(run.start, run.end);
      return run.isAdded
        ? writeRun(
            added.index,
            own.map((row) => row - rowCount),
            run,
          )
        : writeRun(base.index, own, run);
    });
    const written = pieces.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece]));
    return Buffer.concat(envelope === undefined ? written : [envelope.before, ...written, envelope.after]);
  }

  return {
    writeRecords: ({ rows, distances }, format, envelope) =>
      write(rows, envelope, (index, own, { start, end }, ownEnvelope) =>
        index.writeRecords(
          { rows: own, ...(distances && { distances: distances.subarray(start, end) }) },
          format,
          ownEnvelope,
        ),
      ),
    paintRecords: (rows, painter, envelope) =>
      write(rows, envelope, (index, own, _run, ownEnvelope) => index.paintRecords(own, painter, ownEnvelope)),
  };
}

interface Run {
  readonly start: number;
  readonly end: number;
  readonly isAdded: boolean;
}

function runsOf(rows: Uint32Array, rowCount: number): Run[] {
  const runs: Run[] = [];
  let start = 0;
  for (let place = 1; place <= rows.length; place++) {
    const isAdded = (rows[start] as number) >= rowCount;
    if (place < rows.length && (rows[place] as number) >= rowCount === isAdded) continue;
    runs.push({ start, end: place, isAdded });
    start = place;
  }
  return runs;
}
