import { decodeWords, readMessageIds, type MimeEntity } from '../mime/index.ts';

/** The identifiers of In-Reply-To, or, if there are none, of References with the nearest message first. */
export function threadIds(message: MimeEntity): string[] {
  const replies = readNamedIds(message.header('in-reply-to') ?? '');
  return replies.length > 0
    ? replies
    : readNamedIds(message.header('references') ?? '')
        .toReversed()
        .slice(0, 20);
}

/** An encoded word that holds an end of an identifier. One without is part of it, whatever it looks like. */
const wordAcrossIds = /=\?[\w-]{1,40}\?[bq]\?[^?\s]{0,200}[<>][^?\s]{0,200}\?=/i;

/** In place of the angle brackets; an apostrophe inside of a word is part of it. */
const otherQuotes = /(?<![^\s,;])(?:&lt;([^\s<>]+?)&gt;|'([^'\s]+)'|\[([^\]\s]+)\])(?![^\s,;])/g;

/**
 * The identifiers of a field that some mailers write as encoded words when it is long, although no identifier
 * may be one (RFC 2047 §5).
 */
export function readNamedIds(value: string): string[] {
  const isWritten = /<[^<>]+>/.test(value) && !wordAcrossIds.test(value);
  if (isWritten) return readMessageIds(value);
  return readMessageIds(decodeWords(value).trim().replaceAll(otherQuotes, '<$1$2$3>'));
}
