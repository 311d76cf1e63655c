import { isOid } from '../values/index.ts';

const escapes: Readonly<Record<string, string>> = {
  '|': '\\F\\',
  '^': '\\S\\',
  '&': '\\T\\',
  '~': '\\R\\',
  '\\': '\\E\\',
};

/** Escapes the delimiters of HL7 version 2 (META-07) and drops characters that XML does not allow. */
export function escapeHl7(text: string): string {
  return text.replace(/[|^&~\\]/g, (character) => escapes[character] ?? '').trim();
}

/** CX, `id^^^&authority&ISO`, without an identifier type (META-05). */
export function formatCx(id: string, authority: string): string {
  return `${escapeHl7(id)}^^^&${authority}&ISO`;
}

/** XTN of a Direct address, `^^Internet^address` (META-07). */
export function formatXtn(address: string): string {
  return `^^Internet^${escapeHl7(address)}`;
}

/**
 * XCN: text with a caret is one already if it names an identifier or a family name, anything else becomes the
 * family name.
 */
export function formatXcn(text: string): string | undefined {
  const person = text.trim();
  if (!person.includes('^')) return person === '' ? undefined : `^${escapeHl7(person)}`;
  const [id = '', familyName = ''] = person.split('^');
  if (id.trim() !== '' || familyName.trim() !== '') return person;
  const words = person
    .split('^')
    .filter((word) => word.trim() !== '')
    .join(' ');
  return words === '' ? undefined : `^${escapeHl7(words)}`;
}

/**
 * XON: the name, and the OID as the tenth component, wherever between carets the sender wrote it (META-07).
 */
export function formatXon(text: string): string | undefined {
  const components = text.split('^').map((component) => component.trim());
  const name = components[0] ?? '';
  if (name === '') return undefined;
  if (components.length === 1) return escapeHl7(name);
  const last = components.findLast((component) => component !== '') ?? '';
  if (components.length === 10) return components.join('^');
  return isOid(last) ? `${name}^^^^^^^^^${last}` : components.join('^');
}

/** DTM in UTC to the second, `YYYYMMDDhhmmss` (META-04). */
export function formatDtm(at: Date): string {
  return at.toISOString().slice(0, 19).replace(/[-T:]/g, '');
}

const timeForm = /^(\d{4,14})(?:\.\d+)?(?:([+-])(\d{2})(\d{2}))?$/;

/**
 * Turns an HL7 time with a zone, such as a C-CDA's `20120806102000.5-0500`, into a DTM in UTC: 4 to 14
 * digits, an even number of them, no zone (META-04). Undefined if it is not a time.
 */
export function normalizeDtm(text: string): string | undefined {
  const match = timeForm.exec(text.trim());
  if (match?.[1] === undefined) return undefined;
  const digits = match[1].slice(0, match[1].length - (match[1].length % 2));
  const at = new Date(
    Date.UTC(
      Number(digits.slice(0, 4)),
      Number(digits.slice(4, 6) || 1) - 1,
      Number(digits.slice(6, 8) || 1),
      Number(digits.slice(8, 10)),
      Number(digits.slice(10, 12)),
      Number(digits.slice(12, 14)),
    ),
  );
  // A month 13 or a February 30 rolls over: such a time is none.
  if (Number.isNaN(at.getTime()) || formatDtm(at).slice(0, digits.length) !== digits) return undefined;
  // A zone means nothing for a time that is not known to the hour.
  if (match[2] === undefined || digits.length < 10) return digits;
  const minutes = (Number(match[3]) * 60 + Number(match[4])) * (match[2] === '+' ? -1 : 1);
  // Half-hour zones would need minutes that an hour alone does not have; the hour is then left as it is.
  if (digits.length === 10 && minutes % 60 !== 0) return digits;
  return formatDtm(new Date(at.getTime() + minutes * 60_000)).slice(0, digits.length);
}
