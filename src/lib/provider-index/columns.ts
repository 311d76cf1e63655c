import { providerFields, type FilterMatch, type TextField } from '../provider-record/index.ts';

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

/**
 * Columns that are only shown: their rows are in no groups, apart from the postings of those that are not
 * blank. Most rows are.
 */
export const shownColumns: ReadonlySet<ColumnName> = new Set(
  providerFields.flatMap((entry) => ('isInternal' in entry ? columnsOf(entry.field) : [])),
);

/** How else than as stored a column's texts are found (`spellings.ts`). */
export type SpellingStyle = 'text' | 'city';

const matchOfColumn = new Map<string, FilterMatch>(
  providerFields.flatMap(({ field, match }) => columnsOf(field).map((name) => [name, match] as const)),
);

/** Columns searched for a text anywhere inside (Directory spec: Query parameters, "Contains"). */
export const containsColumns: ReadonlySet<string> = new Set(
  [...matchOfColumn].flatMap(([name, match]) =>
    match === 'contains' || match === 'text-contains' ? [name] : [],
  ),
);

/** Undefined for a column whose texts are found as stored only. */
export function spellingStyleOf(name: string): SpellingStyle | undefined {
  const match = matchOfColumn.get(name);
  if (match === 'city-prefix') return 'city';
  return match === 'name-prefix' || match === 'text-contains' ? 'text' : undefined;
}

/** Puts the key of a folded text into `into` from `at` on; returns where it ends. */
export type AlternateKey = (
  bytes: Uint8Array,
  from: number,
  to: number,
  into: Uint8Array,
  at: number,
) => number;

/** What a prefix is compared with in the columns that ignore punctuation (Decision 0002). */
export const alternateKeys = {
  'zip-prefix': (bytes, from, to, into, at) => {
    let end = at;
    for (let index = from; index < to; index++) {
      const byte = bytes[index] as number;
      if (byte !== hyphen) into[end++] = byte;
    }
    return end;
  },
  // The digits without the country: no area code begins with 1 (NANP).
  'phone-prefix': (bytes, from, to, into, at) => {
    let end = at;
    let isFirst = true;
    for (let index = from; index < to; index++) {
      const byte = bytes[index] as number;
      if (byte < zero || byte > nine) continue;
      if (!isFirst || byte !== one) into[end++] = byte;
      isFirst = false;
    }
    return end;
  },
} as const satisfies Record<string, AlternateKey>;

const [hyphen, zero, one, nine] = [0x2d, 0x30, 0x31, 0x39];

/** The second order of a column, if its prefixes ignore punctuation. */
export function alternateKeyOf(name: string): AlternateKey | undefined {
  const match = matchOfColumn.get(name);
  return match === 'zip-prefix' || match === 'phone-prefix' ? alternateKeys[match] : undefined;
}
