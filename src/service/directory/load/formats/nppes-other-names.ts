import { DirectoryError } from '../../errors.ts';
import { findColumn, refuseRepeated, wantedColumns } from './format.ts';

/** Further names of organizations, by NPI. */
export interface NppesOtherNames {
  find(npi: string): readonly string[];
}

const nameColumn = 'provider_other_organization_name';

/** True if the header is that of NPPES's reference file of other names, which are organizations' alone. */
export function isNppesOtherNamesHeader(header: readonly string[]): boolean {
  return header.includes('npi') && header.includes(nameColumn) && !header.includes('entity_type_code');
}

/** More names of one organization say nothing more. */
const maxNamesPerNpi = 5;

/** Collects the names of the organizations that `isWanted`: few of all have a Direct address. */
export function createOtherNameCollector(
  header: readonly string[],
  isWanted: (npi: string) => boolean,
): NppesOtherNames & { readonly wanted: readonly boolean[]; add(fields: readonly string[]): void } {
  const [npi, name] = [findColumn(header, 'npi'), findColumn(header, nameColumn)];
  if (npi < 0)
    throw new DirectoryError('DIRECTORY_FORMAT_UNKNOWN', 'The NPPES file of other names has no NPI column');
  const wanted = wantedColumns(header.length, [npi, name]);
  refuseRepeated(header, wanted);
  const byNpi = new Map<string, string[]>();
  return {
    wanted,
    find: (key) => byNpi.get(key) ?? [],
    add(fields) {
      const key = (fields[npi] ?? '').trim();
      const text = (fields[name] ?? '').trim();
      if (text === '' || text === '<UNAVAIL>' || !isWanted(key)) return;
      const names = byNpi.get(key) ?? [];
      byNpi.set(key, names);
      if (names.length < maxNamesPerNpi) names.push(text);
    },
  };
}
