import { MimeError } from './errors.ts';

// RFC 5322 §3.6.4 without quoted forms; ETT's validator refuses anything else (AS-37).
const messageIdForm = /^<[\w!#$%&'*+/=?^`{|}~.-]+@[\w!#$%&'*+/=?^`{|}~.-]+>$/;

/**
 * Adds missing angle brackets. Throws MIME_MESSAGE_ID_INVALID unless the result has the form `<left@right>`.
 */
export function formatMessageId(id: string): string {
  const bracketed = id.startsWith('<') ? id : `<${id}>`;
  if (!messageIdForm.test(bracketed) || bracketed.length > 400)
    throw new MimeError('MIME_MESSAGE_ID_INVALID', 'A Message-ID must look like <left@right>');
  return bracketed;
}

/** RFC 5322 §2.1.1: octets of a line. What is longer no header could hold, and no index of a database. */
const maxIdBytes = 998;

/**
 * The identifiers of a Message-ID, In-Reply-To, References or Original-Message-ID value, each with its angle
 * brackets. Blanks inside of brackets are removed, since some servers fold there. A value without brackets
 * counts as one identifier; brackets are added. Text with control characters, or longer than a line, is no
 * identifier.
 */
export function readMessageIds(headerValue: string): string[] {
  const ids = headerValue.match(/<[^<>]{1,996}>/g)?.map((id) => id.replace(/\s+/g, ''));
  if (ids !== undefined) return ids.filter(isIdentifier);
  const bare = headerValue.trim().replace(/^<|>$/g, '').trim();
  return [`<${bare}>`].filter((id) => !/\s/.test(id) && isIdentifier(id));
}

function isIdentifier(id: string): boolean {
  return /^<[^<>\p{Cc}]+>$/u.test(id) && Buffer.byteLength(id) <= maxIdBytes;
}
