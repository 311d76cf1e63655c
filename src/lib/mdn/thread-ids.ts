import { readMessageIds, type MimeEntity } from '../mime/index.ts';

/** The identifiers of In-Reply-To, or, if there are none, of References with the nearest message first. */
export function threadIds(message: MimeEntity): string[] {
  const replies = readMessageIds(message.header('in-reply-to') ?? '');
  return replies.length > 0
    ? replies
    : readMessageIds(message.header('references') ?? '')
        .toReversed()
        .slice(0, 20);
}
