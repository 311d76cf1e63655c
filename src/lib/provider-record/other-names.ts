/**
 * The text of a record's other names: `Former (former); Sample, Bob K (professional)`. The given names are
 * there only if they are not those of the record, so that most of these texts are a surname that others have.
 */
import { foldText } from '../../core/index.ts';

/** What a further name is; the words stand in answers. */
export const otherNameKinds = ['former', 'maiden', 'professional', 'nickname', 'other'] as const;

export type OtherNameKind = (typeof otherNameKinds)[number];

export interface OtherName {
  readonly kind: OtherNameKind;
  readonly lastName: string;
  /** Blank if they are those of the record. */
  readonly givenNames: string;
}

/** A person has one or two; more than so many are not kept. */
const maxOtherNames = 3;
const maxNameLength = 60;
/** Signs of the text's form. */
const reserved = /[;,()]/g;

/** The text for some names of a person. Blank and repeated ones, and the person's own, are left out. */
export function formatOtherNames(
  names: readonly OtherName[],
  own: { readonly firstName: string; readonly lastName: string },
): string {
  const texts = new Map<string, string>();
  for (const { kind, lastName, givenNames } of names) {
    const [last = '', given = ''] = [lastName || own.lastName, givenNames].map(plain);
    const isOwnGiven = firstWord(given) === '' || firstWord(given) === firstWord(plain(own.firstName));
    if (last === '' || (isOwnGiven && foldText(last) === foldText(plain(own.lastName)))) continue;
    const name = isOwnGiven ? last : `${last}, ${given}`;
    const key = foldText(name);
    if (!texts.has(key) && texts.size < maxOtherNames) texts.set(key, `${name} (${kind})`);
  }
  return [...texts.values()].join('; ');
}

function plain(name: string): string {
  // A Greek question mark is a semicolon once it is folded.
  return name
    .normalize('NFC')
    .replace(reserved, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxNameLength)
    .trim();
}

function firstWord(given: string): string {
  return foldText(given.split(' ', 1)[0] ?? '');
}

const kindAtEnd = new RegExp(`\\s*\\(\\s*(${otherNameKinds.join('|')})\\s*\\)$`, 'i');

/** Reads such a text; what people write without a kind is another name, without a comma a last name. */
export function readOtherNames(text: string): OtherName[] {
  return text.split(';').flatMap((part): OtherName[] => {
    const whole = part.trim();
    const kind = kindAtEnd.exec(whole);
    const [lastName = '', ...given] = whole
      .slice(0, kind?.index ?? whole.length)
      .split(',')
      .map(plain);
    if (lastName === '' && given.every((one) => one === '')) return [];
    return [
      {
        kind: (kind?.[1]?.toLowerCase() ?? 'other') as OtherNameKind,
        lastName,
        givenNames: given.join(' ').trim(),
      },
    ];
  });
}

/** The names alone, without their kinds: where each begins and ends in the folded text, in bytes. */
export function forEachOtherName(
  text: Uint8Array,
  from: number,
  to: number,
  visit: (start: number, comma: number, end: number) => void,
): void {
  let start = from;
  let comma = -1;
  for (let at = from; at < to; at++) {
    const byte = text[at];
    if (byte === 0x2c && comma < 0) comma = at;
    if (byte !== 0x28) continue;
    // A blank comes before the kind, and one after what separates two names.
    const end = at - 1;
    visit(start, comma < 0 ? end : comma, end);
    while (at < to && text[at] !== 0x3b) at++;
    start = at + 2;
    at++;
    comma = -1;
  }
}
