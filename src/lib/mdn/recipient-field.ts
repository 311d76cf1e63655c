import { readMailboxes } from '../mime/index.ts';

/**
 * The address in a recipient field such as `rfc822;bob@direct.example.org`; type, display name and angle
 * brackets are stripped (AS-03, MDN-21), the case is kept. Undefined if there is none.
 */
export function readRecipientField(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const withoutType = value.replace(/^\s*[\w-]{1,30}\s*;/, '');
  return readMailboxes(withoutType.trim()).at(0)?.address.replace(/\s+/g, '');
}
