import { providerFields, type TextField } from '../provider-record/index.ts';

/**
 * The text columns of the index. A Direct address is two of them: up to and with its first `@`, and the rest.
 */
export type ColumnName = Exclude<TextField, 'directAddress'> | 'addressDomain' | 'addressLocal';

/** The columns that a field is kept in. */
export function columnsOf(field: TextField): readonly ColumnName[] {
  // The domain is built first, because it orders the rows of one local part.
  return field === 'directAddress' ? ['addressDomain', 'addressLocal'] : [field];
}

export const columnNames: readonly ColumnName[] = providerFields.flatMap(({ field }) => columnsOf(field));

/** Columns searched for a text anywhere inside (Directory spec: Query parameters, "Contains"). */
export const containsColumns: ReadonlySet<ColumnName> = new Set(
  providerFields.flatMap(({ field, match }) => (match === 'contains' ? columnsOf(field) : [])),
);

/**
 * The text that a prefix is compared with in the columns that ignore punctuation (Decision 0002): bytes of
 * the folded text.
 */
export const alternateKeys = {
  'zip-prefix': (byte: number): boolean => byte !== 0x2d,
  'phone-prefix': (byte: number): boolean => byte >= 0x30 && byte <= 0x39,
} as const;

/** The second order of a column, if its prefixes ignore punctuation. */
export function alternateKeyOf(name: string): ((foldedByte: number) => boolean) | undefined {
  const match: string | undefined = providerFields.find(({ field }) => field === name)?.match;
  return match === 'zip-prefix' || match === 'phone-prefix' ? alternateKeys[match] : undefined;
}
