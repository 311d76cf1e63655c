import { hasLineBreaker } from '../../core/index.ts';
import { decodeWords, encodeWords } from './encoded-words.ts';
import { MimeError } from './errors.ts';
import { stripComments } from './parameters.ts';

/** One address of a header, for example `"Dr. A" <a@direct.example.org>`. */
export interface Mailbox {
  /** Decoded; absent if there is none. */
  readonly displayName?: string;
  /** The addr-spec as written, case preserved, without angle brackets and blanks around it; not validated. */
  readonly address: string;
}

/**
 * Reads the mailboxes of an address header, leniently (RFC 5322 §3.4, §4.4): groups are flattened, routes dropped, display
 * names decoded. Items without an address are omitted.
 */
export function readMailboxes(headerValue: string): Mailbox[] {
  const mailboxes: Mailbox[] = [];
  for (const item of splitAddressList(headerValue)) {
    const mailbox = readMailbox(item);
    if (mailbox !== undefined) mailboxes.push(mailbox);
  }
  return mailboxes;
}

/** Splits at commas, and at the colon and semicolon of groups, outside quotes, comments and angle brackets. */
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

function readMailbox(item: string): Mailbox | undefined {
  const plain = stripComments(item);
  const open = openAngle(plain);
  if (open < 0) return bareMailbox(item, plain.trim());
  const close = plain.indexOf('>', open);
  const inner = plain.slice(open + 1, close < 0 ? undefined : close).trim();
  // An obsolete source route: `<@relay.example:a@b.example>` (RFC 5322 §4.4).
  const address =
    inner.startsWith('@') && inner.includes(':') ? inner.slice(inner.indexOf(':') + 1).trim() : inner;
  return address === '' ? undefined : withName(readPhrase(plain.slice(0, open)), address);
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
  if (!address.includes('@')) return undefined;
  const comment = item.slice(item.lastIndexOf('('));
  const name =
    item.includes('(') && comment.trimEnd().endsWith(')') ? comment.slice(1, comment.lastIndexOf(')')) : '';
  return withName(decodeWords(name.trim()), address);
}

function withName(displayName: string, address: string): Mailbox {
  return displayName === '' ? { address } : { displayName, address };
}

function readPhrase(text: string): string {
  const phrase = text.trim();
  const isQuoted = phrase.length > 1 && phrase.startsWith('"') && phrase.endsWith('"');
  return decodeWords(isQuoted ? phrase.slice(1, -1).replace(/\\(.)/g, '$1') : phrase).trim();
}

// Atoms with dots, or a quoted local part, at a domain or an address literal (RFC 5322 §3.4.1).
const addressForm = /^(?:[\w!#$%&'*+/=?^`{|}~.-]+|"(?:[ !#-[\]-~]|\\[ -~])+")@(?:[\w.-]+|\[[\w.:]+\])$/;
const plainPhrase = /^[\w!#$%&'*+/=?^`{|}~ -]*$/;

/**
 * Writes a mailbox as ASCII (AS-36): `a@b.example`, `Name <a@b.example>`, `"Dr. N" <…>` or with an encoded word.
 * Throws MIME_ADDRESS_INVALID or MIME_HEADER_UNSAFE.
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
