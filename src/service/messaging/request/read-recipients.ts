import { addressKey, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import type { Problems } from '../problems.ts';

const field = 'toDirectAddress';
// No list of 50 addresses comes near this; it bounds the work on a hostile text.
const maxListLength = 100_000;

/**
 * Reads `toDirectAddress`: one address, a list joined by commas or semicolons, or a JSON array
 * (Decision 0009: M3). Blanks around an address are dropped, and so is an address that differs from an
 * earlier one only in case.
 */
export function readRecipients(
  value: unknown,
  maxRecipients: number,
  problems: Problems,
): readonly DirectAddress[] {
  if (value === undefined || value === null || value === '') {
    problems.add(field, 'required', 'Required.');
    return [];
  }
  const isList = Array.isArray(value);
  const texts: readonly unknown[] = isList ? value.slice(0, maxListLength) : [value].flatMap(splitList);
  const recipients = new Map<string, DirectAddress>();
  for (const [index, text] of texts.entries()) {
    const address = typeof text === 'string' ? findDirectAddress(text.trim()) : undefined;
    if (address === undefined) addProblem(problems, isList, index, texts.length);
    else if (!recipients.has(addressKey(address))) recipients.set(addressKey(address), address);
  }
  if (texts.length === 0) problems.add(field, 'required', 'At least one address is required.');
  if (recipients.size > maxRecipients)
    problems.add(field, 'too_many', `At most ${maxRecipients} recipients are allowed.`);
  return [...recipients.values()];
}

// The faulty text is not repeated: it may be patient data in the wrong field.
function addProblem(problems: Problems, isList: boolean, index: number, count: number): void {
  const where = isList ? `${field}[${index}]` : field;
  const which = !isList && count > 1 ? `Entry ${index + 1} of the list is not` : 'Not';
  problems.add(where, 'invalid', `${which} a Direct address (local@domain).`);
}

function splitList(value: unknown): readonly unknown[] {
  if (typeof value !== 'string' || value.length > maxListLength) return [undefined];
  const entries = splitAddresses(value);
  return entries.length === 0 ? [undefined] : entries;
}

/** The entries of a list joined by commas or semicolons, without blank ones. */
export function splitAddresses(text: string): readonly string[] {
  return splitOutsideQuotes(text).filter((entry) => entry.trim() !== '');
}

// A quoted local part may hold commas and semicolons (RFC 5322 §3.4.1).
function splitOutsideQuotes(text: string): string[] {
  const entries: string[] = [];
  let isQuoted = false;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\\' && isQuoted) index++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === ',' || character === ';')) {
      entries.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...entries, text.slice(start)];
}
