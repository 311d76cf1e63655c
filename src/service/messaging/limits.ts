import type { Config } from '../../platform/index.ts';

/** What one message may contain (Decision 0010). */
export type SendLimits = Pick<
  Config['messaging'],
  'maxAttachmentBytes' | 'maxAttachments' | 'maxRecipients' | 'maxSubjectCharacters' | 'deniedMediaTypes'
>;

/** Of `messageBody`, and of `patient_summary`. */
export const maxTextCharacters = 1_000_000;

/**
 * Bytes of the JSON body that hold a message at the limit: base64 takes four characters for three bytes, line
 * breaks every 76 characters are allowed, and texts and field names come on top.
 */
export function maxBodyBytes(limits: SendLimits): number {
  return Math.ceil(limits.maxAttachmentBytes * 1.4) + 2 * 4 * maxTextCharacters + 1_000_000;
}

/**
 * Bytes of a complete message: base64 with its line breaks takes 1.37 bytes for one, and texts and headers
 * come on top.
 */
export function maxSubmittedBytes(limits: SendLimits): number {
  return Math.ceil(limits.maxAttachmentBytes * 1.4) + 1_000_000;
}

/** Ids in one status question (Decision 0012). */
export const maxStatusIds = 100;
/** Addresses in one validation question. */
export const maxValidateAddresses = 100;
/** Addresses that are not checked within this time are answered as undecided. */
export const maxCheckMs = 30_000;
/** Entries on one page of the inbox. */
export const maxInboxPage = 100;
export const defaultInboxPage = 25;
