/** The text columns of the index. A Direct address is two of them: up to and with its first `@`, and the rest. */
export const columnNames = [
  'npi',
  'firstName',
  'middleName',
  'lastName',
  'suffix',
  // The domain is built first, because it orders the rows of one local part.
  'addressDomain',
  'addressLocal',
  'organization',
  'specialty',
  'street',
  'city',
  'state',
  'zip',
  'phone',
] as const;

export type ColumnName = (typeof columnNames)[number];

/** Columns searched for a text anywhere inside (Directory spec: Query parameters, "Contains"). */
export const containsColumns: ReadonlySet<ColumnName> = new Set<ColumnName>([
  'suffix',
  'addressDomain',
  'addressLocal',
  'organization',
  'specialty',
  'street',
]);

/** What a prefix is compared with in the columns that ignore punctuation. */
export const alternateKeys: Partial<Record<ColumnName, (foldedByte: number) => boolean>> = {
  // Decision 0002: a ZIP prefix ignores the hyphen.
  zip: (byte) => byte !== 0x2d,
  // Decision 0002: a telephone prefix may be compared by digits alone.
  phone: (byte) => byte >= 0x30 && byte <= 0x39,
};
