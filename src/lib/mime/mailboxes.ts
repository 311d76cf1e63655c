import { hasLineBreaker } from '../../core/index.ts';
import { decodeWords, encodeWords } from './encoded-words.ts';
import { MimeError } from './errors.ts';
import { stripComments } from './parameters.ts';
import { toPlainLine } from './plain-line.ts';

/** One address of a header, for example `"Dr. A" <a@direct.example.org>`. */
export interface Mailbox {
  /** Decoded; absent if there is none. */
  readonly displayName?: string;
  /** The addr-spec as written, case preserved, without angle brackets and blanks around it; not validated. */
  readonly address: string;
}

/**
 * Reads the mailboxes of an address header, leniently (RFC 5322 §3.4, §4.4): groups are flattened, routes
 * dropped, display names decoded. Items without an address are omitted, and those whose address a comment
 * divides.
 */
export function readMailboxes(headerValue: string): Mailbox[] {
  const mailboxes: Mailbox[] = [];
  for (const item of splitAddressList(headerValue)) {
    const mailbox = readMailbox(item);
    if (mailbox !== undefined) mailboxes.push(mailbox);
  }
  return mailboxes;
}

/**
 * Splits at commas, and at the colon and semicolon of groups, outside quotes, comments and angle brackets.
 */
function splitAddressList(text: string): string[] {
  const items: string[] = [];
  let start = 0;
  let isQuoted = false;
  let commentDepth = 0;
  let isInAngles = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\\' && (isQuoted || commentDepth > 0)) index++;
    else if (isQuoted) isQuoted = character !== '"';
    else if (character === '(') commentDepth++;
    else if (commentDepth > 0) commentDepth -= character === ')' ? 1 : 0;
    else if (character === '"') isQuoted = true;
    else if (character === '<') isInAngles = true;
    else if (character === '>') isInAngles = false;
    else if (!isInAngles && (character === ',' || character === ';')) {
      items.push(text.slice(start, index));
      start = index + 1;
    } else if (!isInAngles && character === ':') start = index + 1;
  }
  items.push(text.slice(start));
  return items;
}

/** In place of a comment. */
const gap = '\0';

function readMailbox(item: string): Mailbox | undefined {
  const plain = stripComments(item.replaceAll(gap, ' '), gap);
  const open = openAngle(plain);
  if (open < 0) return bareMailbox(item, withoutGaps(plain));
  const close = plain.indexOf('>', open);
  const inner = withoutGaps(plain.slice(open + 1, close < 0 ? undefined : close));
  // An obsolete source route: `<@relay.example:a@b.example>` (RFC 5322 §4.4).
  const address =
    inner.startsWith('@') && inner.includes(':') ? inner.slice(inner.indexOf(':') + 1).trim() : inner;
  return address === '' || address.includes(gap)
    ? undefined
    : withName(readPhrase(plain.slice(0, open).replaceAll(gap, ' ')), address);
}

/**
 * The address without comments at its ends and around its `@`, where the grammar has them. One that is inside
 * of a local part or domain stays a gap: what it separates must not be read as one, such as
 * `user@good(x)evil.example`.
 */
function withoutGaps(text: string): string {
  const sides = text.split('@').map((side) => (side.includes(gap) ? trimGaps(side) : side));
  return trimGaps(sides.join('@')).trim();
}

/** Without a regular expression: on a value of nothing but blanks it would take quadratic time. */
function trimGaps(text: string): string {
  let [start, end] = [0, text.length];
  const isGap = (at: number) => text[at] === gap || text.charAt(at).trim() === '';
  while (start < end && isGap(start)) start++;
  while (start < end && isGap(end - 1)) end--;
  return text.slice(start, end);
}

/** The first angle bracket outside quotes. */
function openAngle(text: string): number {
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    if (isQuoted && text[index] === '\\') index++;
    else if (text[index] === '"') isQuoted = !isQuoted;
    else if (text[index] === '<' && !isQuoted) return index;
  }
  return -1;
}

/** `a@b.example (Name)`: the obsolete form of a display name. */
function bareMailbox(item: string, address: string): Mailbox | undefined {
  if (!address.includes('@') || address.includes(gap)) return undefined;
  const comment = item.slice(item.lastIndexOf('('));
  const name =
    item.includes('(') && comment.trimEnd().endsWith(')') ? comment.slice(1, comment.lastIndexOf(')')) : '';
  return withName(toPlainLine(decodeWords(name.trim())), address);
}

function withName(displayName: string, address: string): Mailbox {
  return displayName === '' ? { address } : { displayName, address };
}

function readPhrase(text: string): string {
  const phrase = text.trim();
  const isQuoted = phrase.length > 1 && phrase.startsWith('"') && phrase.endsWith('"');
  return toPlainLine(decodeWords(isQuoted ? phrase.slice(1, -1).replace(/\\(.)/g, '$1') : phrase));
}

// Atoms with dots, or a quoted local part, at a domain or an address literal (RFC 5322 §3.4.1).
const addressForm = /^(?:[\w!#$%&'*+/=?^`{|}~.-]+|"(?:[ !#-[\]-~]|\\[ -~])+")@(?:[\w.-]+|\[[\w.:]+\])$/;
const plainPhrase = /^[\w!#$%&'*+/=?^`{|}~ -]*$/;

/**
 * Writes a mailbox as ASCII (AS-36): `a@b.example`, `Name <a@b.example>`, `"Dr. N" <…>` or with an encoded
 * word. Throws MIME_ADDRESS_INVALID or MIME_HEADER_UNSAFE.
 */
export function formatMailbox(mailbox: Mailbox | string): string {
  const { address, displayName = '' } = typeof mailbox === 'string' ? { address: mailbox } : mailbox;
  if (!addressForm.test(address) || address.length > 320)
    throw new MimeError('MIME_ADDRESS_INVALID', 'The address is not valid in a header');
  if (hasLineBreaker(displayName))
    throw new MimeError('MIME_HEADER_UNSAFE', 'A display name contains a line break');
  return displayName === '' ? address : `${formatPhrase(displayName)} <${address}>`;
}

/** `Disposition-Notification-To: `; the longest field name, used for all fields. */
const longestAddressHeader = 29;

function formatPhrase(name: string): string {
  if (/[^ -~]/.test(name) || name.includes('=?') || name.length > 200)
    return encodeWords(name, longestAddressHeader);
  return plainPhrase.test(name) ? name : `"${name.replace(/[\\"]/g, '\\$&')}"`;
}
