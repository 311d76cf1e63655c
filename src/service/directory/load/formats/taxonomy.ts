import { DirectoryError } from '../../errors.ts';
import type { InputFile } from '../open-input.ts';
import { openTable } from '../read-rows.ts';
import { findColumn, wantedColumns } from './format.ts';
import type { TaxonomyNames } from './nppes.ts';

export type { TaxonomyNames } from './nppes.ts';

/**
 * Reads the display names of provider taxonomy codes from the code set's own CSV (columns Code and Display
 * Name, or Classification and Specialization). The code set is licensed and does not come with the program.
 */
export async function readTaxonomy(file: InputFile): Promise<TaxonomyNames> {
  const table = await openTable(await file.open());
  const { header } = table;
  const code = findColumn(header, 'code');
  const display = findColumn(header, 'display_name');
  const classification = findColumn(header, 'classification');
  const specialization = findColumn(header, 'specialization');
  if (code < 0) throw new DirectoryError('DIRECTORY_FORMAT_UNKNOWN', 'The taxonomy file has no column Code');
  const names = new Map<string, string>();
  for await (const rows of table.rows(
    wantedColumns(header.length, [code, display, classification, specialization]),
  )) {
    for (const { fields } of rows) {
      const parts = [fields[classification] ?? '', fields[specialization] ?? ''].filter(
        (part) => part !== '',
      );
      names.set(fields[code] ?? '', fields[display] || parts.join(' - '));
    }
  }
  return names;
}
