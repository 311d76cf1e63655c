import { DirectoryError } from '../../errors.ts';
import { providerFields } from '../../../../lib/provider-record/index.ts';
import { isUnnamedEnd, refuseRepeated, shownName, wantedColumns, type RowFormat } from './format.ts';
import { isPatientCategory } from './patient.ts';

/**
 * Columns next to the text fields of the record. `id` and `distance` of an exported page are accepted and
 * ignored.
 */
const extraColumns = ['lat', 'lng', 'key', 'action', 'entity_category', 'id', 'distance'] as const;

/** True if the header is in our own column names, which are those of the provider record on the wire. */
export function isOwnHeader(header: readonly string[]): boolean {
  return header.includes('serv_direct_addr');
}

/**
 * Our own columns, in any order; only `serv_direct_addr` must be there. An unknown column is an error,
 * because a misspelt one would lose its data in silence. Throws DIRECTORY_FORMAT_UNKNOWN.
 */
export function createOwnFormat(header: readonly string[]): RowFormat {
  const known = new Set<string>([...providerFields.map((field) => field.wireName), ...extraColumns]);
  const unknown = header.filter((name, column) => !known.has(name) && !isUnnamedEnd(header, column));
  if (unknown.length > 0) {
    const names = unknown.slice(0, 5).map(shownName).join(', ');
    throw new DirectoryError('DIRECTORY_FORMAT_UNKNOWN', `The header has unknown columns: ${names}`);
  }
  refuseRepeated(
    header,
    header.map((_, column) => !isUnnamedEnd(header, column)),
  );
  const texts = providerFields.map((field) => header.indexOf(field.wireName));
  const [lat = -1, lng = -1, key = -1, action = -1, category = -1] = extraColumns.map((name) =>
    header.indexOf(name),
  );
  return {
    name: 'own',
    wanted: wantedColumns(header.length, [...texts, lat, lng, key, action, category]),
    read: (fields, line) => [
      {
        line,
        texts: texts.map((column) => fields[column] ?? ''),
        latitude: fields[lat] ?? '',
        longitude: fields[lng] ?? '',
        key: fields[key] ?? '',
        action: (fields[action] ?? '').trim().toLowerCase(),
        isPatient: category >= 0 && isPatientCategory(fields[category] ?? ''),
      },
    ],
  };
}
