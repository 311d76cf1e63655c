/**
 * Reads what a client wants to send, and checks every field: the JSON form, or a complete message.
 * Used by `service/messaging`: `send` and `contents`.
 * Begin with this file, then the table in `send-fields.ts`.
 */
import { isLongerThan } from '../../../core/index.ts';
import type { MessageUrn } from '../../../lib/values/index.ts';
import {
  findDirectAddress,
  parseMessageUrn,
  ValueError,
  type DirectAddress,
} from '../../../lib/values/index.ts';
import { maxTextCharacters, type SendLimits } from '../limits.ts';
import { createProblems, findTextProblem, isRecord, type Problems } from '../problems.ts';
import { readAttachments, type Attachment } from './read-attachments.ts';
import { readRecipients } from './read-recipients.ts';
import {
  flagFields,
  textFields,
  type FlagFieldName,
  type TextField,
  type TextFieldName,
} from './send-fields.ts';

/** A send request of which every field was checked. Texts that were not given are empty. */
export interface SendRequest {
  readonly from: DirectAddress;
  readonly to: readonly DirectAddress[];
  readonly messageId: MessageUrn | undefined;
  readonly attachments: readonly Attachment[];
  readonly texts: Readonly<Record<TextFieldName, string>>;
  readonly flags: Readonly<Record<FlagFieldName, boolean | undefined>>;
}

export interface ReadOptions {
  readonly limits: SendLimits;
  readonly now: Date;
}

const knownFields: ReadonlySet<string> = new Set([
  'fromDirectAddress',
  'toDirectAddress',
  'messageId',
  'emailAttachmentList',
  ...textFields.map((field) => field.name),
  ...flagFields.map((field) => field.name),
]);

/**
 * Reads the body of send (Messaging spec: Outbound message; Decisions 0009 and 0010). Throws
 * MESSAGING_REQUEST_INVALID with all problems, or MESSAGING_TOO_LARGE.
 */
export function readSendRequest(body: unknown, options: ReadOptions): SendRequest {
  const problems = createProblems();
  if (!isRecord(body)) problems.add('body', 'invalid', 'The body must be a JSON object.');
  problems.refuseIfAny();
  const values = body as Readonly<Record<string, unknown>>;
  checkNames(values, problems);
  const from = readSender(values['fromDirectAddress'], problems);
  const to = readRecipients(values['toDirectAddress'], options.limits.maxRecipients, problems);
  const messageId = readMessageId(values['messageId'], problems);
  const texts = readTexts(values, options, problems);
  const flags = readFlags(values, problems);
  const attachments = readAttachments(values['emailAttachmentList'], options.limits, problems);
  checkTogether(values, texts, problems);
  problems.refuseIfAny();
  return { from: from as DirectAddress, to, messageId, attachments, texts, flags };
}

// A misspelt field must not silently change a clinical message (Decision 0009).
function checkNames(values: Readonly<Record<string, unknown>>, problems: Problems): void {
  for (const field of Object.keys(values)) {
    if (!knownFields.has(field)) problems.add(field.slice(0, 100), 'unknown', 'Unknown field.');
  }
}

function readSender(value: unknown, problems: Problems): DirectAddress | undefined {
  if (value === undefined || value === null || value === '') {
    problems.add('fromDirectAddress', 'required', 'Required.');
    return undefined;
  }
  const address = typeof value === 'string' ? findDirectAddress(value.trim()) : undefined;
  if (address === undefined)
    problems.add('fromDirectAddress', 'invalid', 'Not a Direct address (local@domain).');
  return address;
}

function readMessageId(value: unknown, problems: Problems): MessageUrn | undefined {
  const text = typeof value === 'string' ? value.trim() : value;
  if (text === undefined || text === null || text === '') return undefined;
  try {
    return parseMessageUrn(typeof text === 'string' ? text : '');
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    problems.add('messageId', 'invalid', 'A message id has the form urn:uuid:<uuid>.');
    return undefined;
  }
}

function readTexts(
  values: Readonly<Record<string, unknown>>,
  options: ReadOptions,
  problems: Problems,
): Record<TextFieldName, string> {
  const today = latestDateOf(options.now);
  const texts = textFields.map((field) => [
    field.name,
    readText(values[field.name], field, { options, today, problems }),
  ]);
  return Object.fromEntries(texts) as Record<TextFieldName, string>;
}

/**
 * The greatest time ahead of UTC of any place; Guam, with ten hours, has births that are tomorrow's in UTC.
 */
const mostAheadMs = 14 * 3_600_000;

/** The latest date that it is anywhere, `YYYYMMDD`. */
function latestDateOf(now: Date): string {
  return new Date(now.getTime() + mostAheadMs).toISOString().slice(0, 10).replaceAll('-', '');
}

interface TextContext {
  readonly options: ReadOptions;
  readonly today: string;
  readonly problems: Problems;
}

// A blank text says as much as a missing one; many systems send every field of their form.
function readText(value: unknown, field: TextField, { options, today, problems }: TextContext): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') {
    problems.add(field.name, 'invalid', 'Must be a text.');
    return '';
  }
  const maxLength = resolveLength(field.maxLength, options.limits);
  const text = field.isMultiLine === true ? value : value.trim();
  if (text.trim() === '') {
    checkCharacters(value, field, problems);
    return '';
  }
  if (isLongerThan(text, maxLength))
    problems.add(field.name, 'too_long', `At most ${maxLength} characters are allowed.`);
  else if (!checkCharacters(value, field, problems)) {
    const problem = field.check?.(text, today);
    if (problem !== undefined) problems.add(field.name, 'invalid', problem);
  }
  return text;
}

function checkCharacters(value: string, field: TextField, problems: Problems): boolean {
  const problem = findTextProblem(value, field.isMultiLine === true);
  if (problem !== undefined) problems.add(field.name, problem.reason, problem.detail);
  return problem !== undefined;
}

function resolveLength(maxLength: TextField['maxLength'], limits: SendLimits): number {
  if (maxLength === 'subject') return limits.maxSubjectCharacters;
  return maxLength === 'text' ? maxTextCharacters : maxLength;
}

function readFlags(
  values: Readonly<Record<string, unknown>>,
  problems: Problems,
): Record<FlagFieldName, boolean | undefined> {
  const flags = flagFields.map(({ name }) => {
    const value = values[name];
    if (value === undefined || value === null || typeof value === 'boolean')
      return [name, value ?? undefined];
    problems.add(name, 'invalid', 'Must be true or false.');
    return [name, undefined];
  });
  return Object.fromEntries(flags) as Record<FlagFieldName, boolean | undefined>;
}

function checkTogether(
  values: Readonly<Record<string, unknown>>,
  texts: Readonly<Record<TextFieldName, string>>,
  problems: Problems,
): void {
  const attachments = values['emailAttachmentList'];
  const hasAttachments = Array.isArray(attachments)
    ? attachments.length > 0
    : attachments !== undefined && attachments !== null;
  // A text that was refused is empty here, but it was given.
  const isMissing = (name: TextFieldName): boolean =>
    texts[name] === '' && !problems.found.some((problem) => problem.field === name);
  if (isMissing('messageBody') && !hasAttachments)
    problems.add('messageBody', 'required', 'A message needs a text or an attachment.');
  if (values['xdm'] === true && !hasAttachments)
    problems.add('emailAttachmentList', 'required', 'A package (xdm) needs a document.');
  if (texts.patientId !== '' && isMissing('assigning_authority'))
    problems.add('assigning_authority', 'required', 'patientId needs its assigning_authority.');
  if (texts.assigning_authority !== '' && isMissing('patientId'))
    problems.add('patientId', 'required', 'assigning_authority needs its patientId.');
}
