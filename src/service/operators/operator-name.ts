import { OperatorsError } from './errors.ts';

/**
 * Names of operators are Latin letters, digits, single blanks and . _ @ + - : with letters of other scripts
 * one name can be written to look like another.
 */
const nameForm = /^[a-z0-9](?:[a-z0-9._@+-]| (?! |$)){0,79}$/;

/** Latin letters that do not decompose. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
};

/** The name in small letters without accents. */
function plainOf(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[ßæœøđðþłħı]/g, (letter) => plainLetters[letter] ?? letter);
}

export function isOperatorName(name: string): boolean {
  return name.length <= 80 && name === name.normalize('NFKC') && nameForm.test(plainOf(name));
}

/** Throws OPERATORS_NAME_INVALID. */
export function requireOperatorName(name: string): string {
  if (isOperatorName(name)) return name;
  throw new OperatorsError(
    'OPERATORS_NAME_INVALID',
    'The name must be 1 to 80 Latin letters, digits, single blanks and . _ @ + - that begin with a letter or digit.',
  );
}

/** No name that is made here, and no name of a command (`--as`), can end so. */
const externalMark = ' (OpenID)';

/**
 * The name of an operator of an OpenID provider. Whatever the provider calls somebody, the actor in the audit
 * trail is neither that of an operator of this HISP nor that of a command.
 */
export const externalName = (name: string): string => `${name}${externalMark}`;

/**
 * Equal for names that look alike: without case, accents and blanks; 0 and o, 1, i and l, rn and m, vv and w
 * are the same. The mark of external operators does not count.
 */
export function nameKeyOf(name: string): string {
  return plainOf(name.endsWith(externalMark) ? name.slice(0, -externalMark.length) : name)
    .replaceAll(' ', '')
    .replaceAll('0', 'o')
    .replaceAll(/[1il]/g, 'l')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}

/** True if somebody who types `given` means the operator `name`; case and the mark may be left out. */
export function meansName(given: string, name: string): boolean {
  const fold = (text: string): string => text.normalize('NFKC').toLowerCase();
  return fold(given) === fold(name) || fold(externalName(given)) === fold(name);
}
