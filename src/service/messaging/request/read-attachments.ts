import { decodeBase64Strict, isLongerThan } from '../../../core/index.ts';
import { findXmlFault, type XmlFault } from '../../../lib/xdm/index.ts';
import { parseMediaType, ValueError, type MediaType } from '../../../lib/values/index.ts';
import {
  contentMatches,
  isXmlType,
  deniedTypesOf,
  deriveFileName,
  hasDeniedExtension,
  isProgram,
} from './attachment-types.ts';
import { Base64Content } from './parse-body.ts';
import { MessagingError } from '../errors.ts';
import type { SendLimits } from '../limits.ts';
import { findTextProblem, isRecord, type Problems } from '../problems.ts';

/** One attachment as it will be sent. */
export interface Attachment {
  /** With the client's parameters. Example: `text/xml; charset="utf-8"`. */
  readonly mediaType: string;
  /** `type/subtype` in lower case. */
  readonly baseType: string;
  readonly content: Buffer;
  readonly title: string;
  /** Without folders; derived from the type if the client gave none. */
  readonly fileName: string;
  /** The fault of XML that is sent although it is not well formed. */
  readonly xmlFault?: XmlFault;
}

const listField = 'emailAttachmentList';
const maxNameLength = 255;
const knownFields = new Set([
  'attachmentClass',
  'attachmentContent',
  'attachmentTitle',
  'attachmentFileName',
]);

/**
 * Reads `emailAttachmentList`. Throws MESSAGING_TOO_LARGE at once if the contents together exceed the limit.
 */
export function readAttachments(
  value: unknown,
  limits: SendLimits,
  problems: Problems,
): readonly Attachment[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    problems.add(listField, 'invalid', 'Must be a list of attachments.');
    return [];
  }
  if (value.length > limits.maxAttachments) {
    problems.add(listField, 'too_many', `At most ${limits.maxAttachments} attachments are allowed.`);
    return [];
  }
  refuseTooLarge(value, limits.maxAttachmentBytes);
  const denied = deniedTypesOf(limits);
  return value.flatMap((entry: unknown, index) => readAttachment(entry, index, problems, denied) ?? []);
}

// The size is known before anything is decoded: four characters hold three bytes. White space and padding are
// only counted where they can make the difference.
function refuseTooLarge(entries: readonly unknown[], maxBytes: number): void {
  const contents = entries.map((entry) => (isRecord(entry) ? entry['attachmentContent'] : undefined));
  const mostBytes = contents.reduce((total: number, content) => total + mostBytesOf(content), 0);
  if (mostBytes <= maxBytes) return;
  let total = 0;
  for (const [index, content] of contents.entries()) {
    total += typeof content === 'string' ? decodedBytes(stripWhiteSpace(content)) : mostBytesOf(content);
    if (total > maxBytes) throw tooLarge(`${listField}[${index}].attachmentContent`, maxBytes);
  }
}

function mostBytesOf(content: unknown): number {
  if (content instanceof Base64Content) return content.content.length;
  return typeof content === 'string' ? Math.ceil((content.length * 3) / 4) : 0;
}

function decodedBytes(text: string): number {
  return Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}

function tooLarge(field: string, maxBytes: number): MessagingError {
  const detail = `The attachments hold more than ${maxBytes} bytes together.`;
  const problems = [{ field, reason: 'too_large', detail }];
  return new MessagingError('MESSAGING_TOO_LARGE', 'the attachments are too large', { problems });
}

function readAttachment(
  entry: unknown,
  index: number,
  problems: Problems,
  denied: ReadonlySet<string>,
): Attachment | undefined {
  const name = `${listField}[${index}]`;
  if (!isRecord(entry)) {
    problems.add(name, 'invalid', 'Must be an attachment object.');
    return undefined;
  }
  for (const field of Object.keys(entry)) {
    if (!knownFields.has(field)) problems.add(`${name}.${field.slice(0, 100)}`, 'unknown', 'Unknown field.');
  }
  const type = readClass(entry['attachmentClass'], `${name}.attachmentClass`, problems, denied);
  const content = readContent(entry['attachmentContent'], `${name}.attachmentContent`, problems);
  const title = readName(entry['attachmentTitle'], `${name}.attachmentTitle`, problems);
  const fileName = readFileName(entry['attachmentFileName'], `${name}.attachmentFileName`, problems);
  if (type === undefined || content === undefined) return undefined;
  checkContent(type.baseType, content, name, problems);
  const xmlFault = isXmlType(type.baseType) ? findXmlFault(content) : undefined;
  if (xmlFault?.isCda === true)
    problems.add(
      `${name}.attachmentContent`,
      'not_well_formed',
      `The clinical document ${describeXmlFault(xmlFault)}.`,
    );
  return {
    ...type,
    ...(xmlFault && { xmlFault }),
    content,
    title,
    fileName: fileName === '' ? deriveFileName(type.baseType, index + 1) : fileName,
  };
}

/** The predicate of a sentence about the document. */
export function describeXmlFault({ line, column, isBadUtf8, isExcessive }: XmlFault): string {
  const place = `(line ${line}, column ${column})`;
  if (isExcessive) return `has elements that are nested too deep, or have too many attributes ${place}`;
  return isBadUtf8
    ? `has bytes that are not UTF-8 ${place}, and declares no other encoding`
    : `is not well-formed XML ${place}`;
}

function readClass(
  value: unknown,
  field: string,
  problems: Problems,
  denied: ReadonlySet<string>,
): Pick<Attachment, 'mediaType' | 'baseType'> | undefined {
  if (value === undefined || value === null || value === '') {
    problems.add(field, 'required', 'Required.');
    return undefined;
  }
  const mediaType = typeof value === 'string' ? value.trim() : '';
  const parsed = findMediaType(mediaType);
  // multipart and message types need their own structure, which base64 may not carry (RFC 2045 §6.4).
  if (parsed === undefined || parsed.type === 'multipart' || parsed.type === 'message') {
    problems.add(field, 'invalid', 'Not a media type that an attachment can have.');
    return undefined;
  }
  const baseType = `${parsed.type}/${parsed.subtype}`;
  if (denied.has(baseType)) {
    problems.add(field, 'not_allowed', 'Attachments of this type are not accepted.');
    return undefined;
  }
  return { mediaType: formatMediaType(baseType, parsed.parameters), baseType };
}

// `name` is written from the file name; a boundary means nothing here.
const droppedParameters = new Set(['name', 'boundary']);

function formatMediaType(baseType: string, parameters: ReadonlyMap<string, string>): string {
  // `name*` and `name*0` are other forms of `name` (RFC 2231).
  const kept = [...parameters].filter(([name]) => !droppedParameters.has(name.split('*', 1)[0] ?? ''));
  return [baseType, ...kept.map(([name, value]) => `${name}="${value.replaceAll(/["\\]/g, '\\$&')}"`)].join(
    '; ',
  );
}

function findMediaType(text: string): MediaType | undefined {
  try {
    return parseMediaType(text);
  } catch (error) {
    if (error instanceof ValueError) return undefined;
    throw error;
  }
}

function readContent(value: unknown, field: string, problems: Problems): Buffer | undefined {
  if (value === undefined || value === null) {
    problems.add(field, 'required', 'Required.');
    return undefined;
  }
  if (value instanceof Base64Content) return value.content;
  const content = typeof value === 'string' ? decodeBase64Strict(stripWhiteSpace(value)) : undefined;
  if (content === undefined) problems.add(field, 'invalid', 'Not base64 (RFC 4648 §4, with padding).');
  if (content?.length === 0) problems.add(field, 'empty', 'The attachment is empty.');
  return content === undefined || content.length === 0 ? undefined : content;
}

function stripWhiteSpace(text: string): string {
  return /[\t\n\r ]/.test(text) ? text.replaceAll(/[\t\n\r ]+/g, '') : text;
}

function readName(value: unknown, field: string, problems: Problems): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') {
    problems.add(field, 'invalid', 'Must be a text.');
    return '';
  }
  if (isLongerThan(value, maxNameLength)) {
    problems.add(field, 'too_long', `At most ${maxNameLength} characters are allowed.`);
    return '';
  }
  const problem = findTextProblem(value, false);
  if (problem !== undefined) problems.add(field, problem.reason, problem.detail);
  return value.trim();
}

function readFileName(value: unknown, field: string, problems: Problems): string {
  // A path reveals the sender's file system, which receivers must not see (standards §4.3).
  const fileName = readName(value, field, problems).split(/[/\\]/).at(-1)?.trim() ?? '';
  if (hasDeniedExtension(fileName))
    problems.add(field, 'not_allowed', 'Files with this ending are not accepted.');
  return fileName === '.' || fileName === '..' ? '' : fileName;
}

function checkContent(baseType: string, content: Buffer, name: string, problems: Problems): void {
  if (isProgram(content))
    problems.add(`${name}.attachmentContent`, 'not_allowed', 'Programs are not accepted.');
  else if (!contentMatches(baseType, content))
    problems.add(
      `${name}.attachmentContent`,
      'type_mismatch',
      `The content is not of the type ${baseType}, as which it is sent.`,
    );
}
