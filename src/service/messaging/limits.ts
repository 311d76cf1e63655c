import { defaultSettings, type Config } from '../../platform/index.ts';

/** Limits of one message (Decision 0010). */
export interface SendLimits {
  /** Decoded bytes of all attachments together. */
  readonly attachmentBytes: number;
  readonly attachments: number;
  readonly recipients: number;
  readonly subjectLength: number;
  /** Characters of `messageBody`, and of `patient_summary`. */
  readonly textLength: number;
}

/** Longest text of one message; the other limits are settings. */
const maxTextCharacters = 1_000_000;

export function sendLimitsOf(settings: Config['messaging']): SendLimits {
  return {
    attachmentBytes: settings.maxAttachmentBytes,
    attachments: settings.maxAttachments,
    recipients: settings.maxRecipients,
    subjectLength: settings.maxSubjectCharacters,
    textLength: maxTextCharacters,
  };
}

export const defaultSendLimits: SendLimits = sendLimitsOf(defaultSettings.messaging);

/**
 * Bytes of the JSON body that hold a message at the limit: base64 takes four characters for three bytes, line
 * breaks every 76 characters are allowed, and texts and field names come on top.
 */
export function maxBodyBytes(limits: SendLimits): number {
  return Math.ceil(limits.attachmentBytes * 1.4) + 2 * 4 * limits.textLength + 1_000_000;
}

/**
 * Bytes of a complete message: base64 with its line breaks takes 1.37 bytes for one, and texts and headers
 * come on top.
 */
export function maxSubmittedBytes(limits: SendLimits): number {
  return Math.ceil(limits.attachmentBytes * 1.4) + 1_000_000;
}

/** Ids in one status question (Decision 0012). */
export const maxStatusIds = 100;
/** Addresses in one validation question. */
export const maxValidateAddresses = 100;
/** Addresses that are not checked within this time are answered as undecided. */
export const maxCheckMs = 30_000;

/**
 * Addresses being checked for validate, those that wait included, and discoveries at the same time
 * (Decision 0020).
 */
export interface CheckLimits {
  readonly addresses: number;
  readonly addressesPerClient: number;
  readonly atOnce: number;
  readonly atOncePerClient: number;
}

export function checkLimitsOf(settings: Config['admission']): CheckLimits {
  return {
    addresses: settings.maxCheckedAddresses,
    addressesPerClient: settings.maxCheckedAddressesPerClient,
    atOnce: settings.addressChecks,
    atOncePerClient: settings.addressChecksPerClient,
  };
}

export const defaultCheckLimits: CheckLimits = checkLimitsOf(defaultSettings.admission);
/** Entries on one page of the inbox. */
export const maxInboxPage = 100;
export const defaultInboxPage = 25;
