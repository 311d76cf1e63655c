import { foldText } from '../../../core/index.ts';
import {
  formatOtherNames,
  readOtherNames,
  textFields,
  type ProviderRecord,
  type TextField,
} from '../../../lib/provider-record/index.ts';

/** Merges the values of several sources for one record. */
export interface FilledRecord {
  readonly line: string;
  /**
   * For each value of the line, which of the given lines it comes from; -1 for a blank one. Latitude and
   * longitude come last.
   */
  readonly origins: readonly number[];
}

const at = Object.fromEntries(textFields.map((field, index) => [field, index])) as Record<TextField, number>;
const latitude = textFields.length;
const longitude = latitude + 1;

interface FieldGroup {
  readonly values: readonly number[];
  /** Values by which two sources must not differ if one is to complete the other. */
  readonly decisive: readonly number[];
}

/**
 * Values that belong together: half an address of one office, completed by half of another one's, would be
 * the address of none. So a source completes a person's name or a place only if it does not contradict the
 * values of the record.
 */
const joined: readonly FieldGroup[] = [
  {
    values: [at.firstName, at.middleName, at.lastName, at.suffix, at.otherNames],
    decisive: [at.firstName, at.lastName],
  },
  {
    values: [at.street, at.city, at.state, at.zip, latitude, longitude],
    decisive: [at.city, at.state, at.zip],
  },
];

/** Every other field, a new one too, is filled on its own; the address is the same in all sources. */
const notAlone: ReadonlySet<number> = new Set([at.directAddress, ...joined.flatMap(({ values }) => values)]);
const groups: readonly FieldGroup[] = [
  ...joined,
  ...textFields.flatMap((_, value) => (notAlone.has(value) ? [] : [{ values: [value], decisive: [] }])),
];

/** The first line, with its blank values filled from the others, which come in order of precedence. */
export function fillRecord(lines: readonly string[]): FilledRecord {
  const values = (lines[0] ?? '').split('\t');
  const origins = values.map((value): number => (value === '' ? -1 : 0));
  for (const [origin, line] of lines.entries()) {
    if (origin === 0 || !origins.includes(-1)) continue;
    const others = line.split('\t');
    for (const group of groups)
      if (!contradicts(group, values, others)) fillGroup(group, values, others, origins, origin);
    const names = values[at.otherNames] === '' ? namesOfToday(values, others) : '';
    if (names === '') continue;
    values[at.otherNames] = names;
    origins[at.otherNames] = origin;
  }
  return { line: values.join('\t'), origins };
}

/**
 * The other source's names of a person, if it has the last name of the record among the other names alone:
 * the record is found by the name of today, too.
 */
function namesOfToday(values: readonly string[], others: readonly string[]): string {
  const text = others[at.otherNames] ?? '';
  if (text === '') return '';
  const [own, other] = [values, others].map((texts) => ({
    firstName: texts[at.firstName] ?? '',
    lastName: texts[at.lastName] ?? '',
  })) as [OwnName, OwnName];
  const names = readOtherNames(text);
  const isSame = (one: string, two: string): boolean => foldText(one) === foldText(two);
  if (isSame(own.lastName, other.lastName) || !isSame(own.firstName, other.firstName)) return '';
  if (!names.some(({ lastName }) => isSame(lastName, own.lastName))) return '';
  return formatOtherNames([{ kind: 'other', lastName: other.lastName, givenNames: '' }, ...names], own);
}

type OwnName = Pick<ProviderRecord, 'firstName' | 'lastName'>;

function contradicts(
  { decisive }: FieldGroup,
  values: readonly string[],
  others: readonly string[],
): boolean {
  return decisive.some((position) => {
    const [value = '', other = ''] = [values[position], others[position]];
    return value !== '' && other !== '' && comparable(position, value) !== comparable(position, other);
  });
}

/** ZIP+4 is a place within the ZIP code. */
function comparable(position: number, value: string): string {
  return position === at.zip ? value.slice(0, 5) : foldText(value);
}

function fillGroup(
  group: FieldGroup,
  values: string[],
  others: readonly string[],
  origins: number[],
  origin: number,
): void {
  for (const position of group.values) {
    // A longitude goes with its latitude.
    const leader = position === longitude ? latitude : position;
    if (position === longitude ? origins[leader] !== origin : values[position] !== '') continue;
    const other = others[position] ?? '';
    if (other === '') continue;
    values[position] = other;
    origins[position] = origin;
  }
}
