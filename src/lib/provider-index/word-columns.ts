import type { WordField, WordStyle } from '../search-words/index.ts';
import type { ColumnName } from './columns.ts';

/** The columns whose words are found; ZIP codes, telephone numbers and NPIs are found as digits. */
export const wordColumns = {
  firstName: { style: 'name', field: 'name' },
  middleName: { style: 'name', field: 'name' },
  lastName: { style: 'name', field: 'name' },
  otherNames: { style: 'name', field: 'name' },
  suffix: { style: 'text', field: 'name' },
  organization: { style: 'text', field: 'organization' },
  specialty: { style: 'text', field: 'specialty' },
  street: { style: 'text', field: 'place' },
  city: { style: 'name', field: 'place' },
  state: { style: 'text', field: 'place' },
  addressLocal: { style: 'text', field: 'address' },
  addressDomain: { style: 'domain', field: 'address' },
} as const satisfies Partial<Record<ColumnName, { readonly style: WordStyle; readonly field: WordField }>>;

export type WordColumnName = keyof typeof wordColumns;

/** The arrays of a column's words. */
export function wordArrays(name: string) {
  return {
    bytes: `${name}.words.bytes`,
    offsets: `${name}.words.offsets`,
    starts: `${name}.words.starts`,
    groups: `${name}.words.groups`,
    frequentKeys: `${name}.words.frequentKeys`,
    frequentOffsets: `${name}.words.frequentOffsets`,
    frequentSets: `${name}.words.frequentSets`,
    frequent: `${name}.words.frequent`,
  };
}
