import { textFields, type ProviderRecord, type TextField } from '../provider-record/index.ts';
import { columnsOf } from './columns.ts';
import type { ChangeContext } from './change-times.ts';
import type { JsonContext } from './write-records.ts';
import type { TextColumn } from './text-column.ts';

/** The record as it was put in. */
export function readRecord(
  row: number,
  { columns, points, ids, changedAt }: JsonContext & ChangeContext,
): ProviderRecord {
  const texts = textFields.map((field): [TextField, string] => {
    // Kept in the order of building; the text begins with the last one.
    const names = columnsOf(field).toReversed();
    return [field, names.map((name) => readText(columns.get(name) as TextColumn, row)).join('')];
  });
  const point = points.codes[row] as number;
  const changed = changedAt?.[row] ?? 0;
  return {
    id: ids[row] as number,
    ...(Object.fromEntries(texts) as Record<TextField, string>),
    ...(point < points.count
      ? { latitude: points.latitudes[point] as number, longitude: points.longitudes[point] as number }
      : {}),
    ...(changed > 0 && { changedAt: changed }),
  };
}

/** The text of a record in a column of digits, which folding does not change; cheaper than `readText`. */
export function readDigits({ codes, scratch, loadFolded }: TextColumn, row: number): string {
  const length = loadFolded(codes[row] as number);
  let text = '';
  for (let at = 0; at < length; at++) text += String.fromCharCode(scratch[at] as number);
  return text;
}

function readText(column: TextColumn, row: number): string {
  const span = new Uint32Array(2);
  column.locate(Uint32Array.of(row), span);
  const bytes = Buffer.from(column.values.slice(span[0], span[1]));
  return bytes.includes(0x5c) ? (JSON.parse(`"${bytes.toString()}"`) as string) : bytes.toString();
}
