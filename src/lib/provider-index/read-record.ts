import type { ColumnName } from './columns.ts';
import type { JsonContext } from './write-records.ts';
import type { TextColumn } from './text-column.ts';
import type { ProviderRecord } from './types.ts';

/** The record as it was put in. */
export function readRecord(row: number, { columns, points, ids }: JsonContext): ProviderRecord {
  const text = (name: ColumnName): string => readText(columns.get(name) as TextColumn, row);
  const point = points.codes[row] as number;
  return {
    id: ids[row] as number,
    npi: text('npi'),
    firstName: text('firstName'),
    middleName: text('middleName'),
    lastName: text('lastName'),
    suffix: text('suffix'),
    directAddress: text('addressLocal') + text('addressDomain'),
    organization: text('organization'),
    specialty: text('specialty'),
    street: text('street'),
    city: text('city'),
    state: text('state'),
    zip: text('zip'),
    phone: text('phone'),
    ...(point < points.count
      ? { latitude: points.latitudes[point] as number, longitude: points.longitudes[point] as number }
      : {}),
  };
}

function readText(column: TextColumn, row: number): string {
  const span = new Uint32Array(2);
  column.locate(Uint32Array.of(row), span);
  const bytes = Buffer.from(column.values.slice(span[0], span[1]));
  return bytes.includes(0x5c) ? (JSON.parse(`"${bytes.toString()}"`) as string) : bytes.toString();
}
