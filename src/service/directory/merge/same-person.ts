import { foldText } from '../../../core/index.ts';
import { areShortForms } from '../../../lib/search-words/index.ts';

/** A person's name as a source states it. */
export interface StatedName {
  readonly first: readonly string[];
  readonly middle: readonly string[];
  readonly last: readonly string[];
  /** Last names that the person had or uses, too. */
  readonly otherLast: readonly (readonly string[])[];
  /** `jr`, `sr`, `ii` …, or ''. */
  readonly generation: string;
}

/** Of letters that folding leaves as they are, what people write without them. */
const spelled: ReadonlyMap<string, string> = new Map(
  Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' }),
);
const spelledLetters = /[ßæœøłđðþı]/g;
const generations: ReadonlyMap<string, string> = new Map([
  ...['jr', 'sr', 'ii', 'iii', 'iv', 'v'].map((word) => [word, word] as const),
  ['junior', 'jr'],
  ['senior', 'sr'],
  ['2nd', 'ii'],
  ['3rd', 'iii'],
]);

export function nameOf(texts: {
  readonly first: string;
  readonly middle: string;
  readonly last: string;
  readonly suffix: string;
  readonly otherLast: readonly string[];
}): StatedName {
  const [first, middle, last, suffix] = [texts.first, texts.middle, texts.last, texts.suffix].map(
    wordsOfName,
  );
  const own = [...(suffix ?? []), ...(last ?? []).slice(1), ...(middle ?? []), ...(first ?? []).slice(1)];
  return {
    first: withoutTitles(first ?? []),
    middle: withoutTitles(middle ?? []),
    last: withoutTitles(last ?? []),
    otherLast: texts.otherLast.map((name) => withoutTitles(wordsOfName(name))),
    generation: own.map((word) => generations.get(word)).find((word) => word !== undefined) ?? '',
  };
}

/** Apostrophes and dots join: `O'Brien`, `M.D.`. */
function wordsOfName(name: string): string[] {
  return foldText(name)
    .replace(spelledLetters, (letter) => spelled.get(letter) ?? letter)
    .replace(/['’‘‛`´ʹʻʼʽ′＇]/g, '')
    .replace(/\b(\p{L})\.(?=\p{L}\b)/gu, '$1')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

const titles: ReadonlySet<string> = new Set('dr doctor mr mrs ms miss prof'.split(' '));
/** Behind a name; some of them are names, too. */
const degrees: ReadonlySet<string> = new Set(
  'md do rn np pa dds dmd dpm od dc phd psyd pharmd lcsw aprn crna mph facs faap esq'.split(' '),
);

/** A name may be a title alone: then it is the name. */
function withoutTitles(words: readonly string[]): readonly string[] {
  const names = words.filter(
    (word, at) => !titles.has(word) && !(at > 0 && (degrees.has(word) || generations.has(word))),
  );
  return names.length === 0 ? words : names;
}

/**
 * True unless the names are those of two persons: short forms, initials, a middle name as first name, one
 * part of a double name, a former name, titles, and parts in other fields are no other name.
 */
export function mayBeSamePerson(one: StatedName, other: StatedName): boolean {
  if (one.generation !== '' && other.generation !== '' && one.generation !== other.generation) return false;
  return (fitFirst(one, other) && fitLast(one, other)) || haveSameWords(one, other);
}

function fitFirst(one: StatedName, other: StatedName): boolean {
  if (one.first.length === 0 || other.first.length === 0) return true;
  const [a, b] = [one.first.join(''), other.first.join('')];
  return a.startsWith(b) || b.startsWith(a) || hasGiven(one.first, other) || hasGiven(other.first, one);
}

/** True if a first name is one of the other person's given names, or a short form of it. */
function hasGiven(first: readonly string[], { first: names, middle }: StatedName): boolean {
  return first.some((word) =>
    [...names, ...middle].some(
      (name) => areShortForms(word, name) || (word.length > 1 && (name === word || name === first.join(''))),
    ),
  );
}

function fitLast(one: StatedName, other: StatedName): boolean {
  const names = [one.last, ...one.otherLast];
  const others = [other.last, ...other.otherLast];
  if (one.last.length === 0 || other.last.length === 0) return true;
  return names.some((name, at) =>
    others.some((own, place) => (at === 0 || place === 0) && isNameOrPart(name, own)),
  );
}

/** `Garcia` and `Garcia-Lopez`: a double name by one of its parts. */
function isNameOrPart(one: readonly string[], other: readonly string[]): boolean {
  if (one.join('') === other.join('')) return true;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.length > 0 && short.every((word) => word.length > 2 && long.includes(word));
}

/** The same words in other fields: first and last name changed, or both in one field. */
function haveSameWords(one: StatedName, other: StatedName): boolean {
  const [a, b] = [one, other].map(({ first, last }) => [...first, ...last].toSorted().join(' '));
  return a === b;
}
