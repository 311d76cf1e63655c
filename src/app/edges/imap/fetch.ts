import { LRUCache } from 'lru-cache';
import { parseEntity, type MimeEntity } from '../../../lib/mime/index.ts';
import { mailFlags, type MailItem } from '../../../service/edges/index.ts';
import { stateFlags, type Mailbox } from '../mailbox/open-mailbox.ts';
import { parseSection, readSection, type Section } from './sections.ts';
import type { Token } from './read-command.ts';
import { writeEnvelope, writeStructure } from './structure.ts';
import { writeDateTime } from './write-values.ts';

/** What a FETCH asks for. */
export interface FetchRequest {
  readonly fields: readonly string[];
  readonly sections: readonly Section[];
  /** True if a section other than by PEEK marks the message as seen. */
  readonly marksSeen: boolean;
}

const fieldNames = ['FLAGS', 'UID', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE', 'BODY', 'BODYSTRUCTURE'];
const macros: Readonly<Record<string, readonly string[]>> = {
  FAST: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE'],
  ALL: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE'],
  FULL: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE', 'BODY'],
};
/** The names of RFC 3501 for sections, and how the answer calls them. */
const oldSections: Readonly<Record<string, string>> = {
  RFC822: 'BODY[]',
  'RFC822.HEADER': 'BODY.PEEK[HEADER]',
  'RFC822.TEXT': 'BODY[TEXT]',
};
const maxItems = 100;

/** Undefined if an item is unknown. */
export function parseFetch(words: Token | undefined): FetchRequest | undefined {
  if (words === undefined || words.kind === 'text') return undefined;
  const items = words.kind === 'atom' ? [words] : words.items;
  const fields: string[] = [];
  const sections: Section[] = [];
  if (items.length === 0 || items.length > maxItems) return undefined;
  for (const item of items) {
    if (item.kind !== 'atom') return undefined;
    const name = item.text.toUpperCase();
    const macro = macros[name];
    const old = oldSections[name];
    if (macro !== undefined) fields.push(...macro);
    else if (fieldNames.includes(name)) fields.push(name);
    else {
      const section = parseSection(old ?? item.text);
      if (section === undefined) return undefined;
      sections.push(old === undefined ? section : { ...section, name });
    }
  }
  return { fields, sections, marksSeen: sections.some(({ isPeek }) => !isPeek) };
}

/** What lists of messages ask for, so that a page is not decrypted each time. */
export interface MessageFacts {
  readonly envelope: string;
  readonly body: string;
  readonly structure: string;
  readonly header: Buffer;
}

export type FactsCache = LRUCache<string, MessageFacts>;

/** Octets of all mailboxes together. */
const maxCachedBytes = 32_000_000;
const maxCachedHeader = 32_768;

export function createFactsCache(): FactsCache {
  return new LRUCache({
    maxSize: maxCachedBytes,
    sizeCalculation: ({ envelope, body, structure, header }) =>
      200 + header.length + 2 * (envelope.length + body.length + structure.length),
    ttl: 3_600_000,
  });
}

const factFields = new Set(['ENVELOPE', 'BODY', 'BODYSTRUCTURE']);

/** One message's answer to a FETCH, and whether it was given whole. Undefined if the message is gone. */
export async function fetchMessage(
  mailbox: Mailbox,
  cache: FactsCache,
  item: MailItem,
  request: FetchRequest,
): Promise<{ readonly answer: Buffer; readonly isWhole: boolean } | undefined> {
  const pieces: Buffer[] = [];
  const put = (name: string, value: string): void =>
    void pieces.push(Buffer.from(`${pieces.length === 0 ? '' : ' '}${name} ${value}`, 'latin1'));
  let isWhole = false;
  for (const field of new Set(request.fields)) {
    if (!factFields.has(field)) {
      put(field, await plainField(mailbox, item, field));
      continue;
    }
    const facts = await findFacts(mailbox, cache, item);
    if (facts === undefined) return undefined;
    put(field, field === 'ENVELOPE' ? facts.envelope : field === 'BODY' ? facts.body : facts.structure);
  }
  for (const section of request.sections) {
    const bytes = await sectionOf(mailbox, cache, item, section);
    if (bytes === 'gone') return undefined;
    if (bytes === undefined) put(section.name, 'NIL');
    else {
      const { from = 0, count = bytes.length } = section.partial ?? {};
      const part = bytes.subarray(from, from + count);
      put(section.name, `{${part.length}}\r\n`);
      pieces.push(Buffer.from(part.buffer, part.byteOffset, part.length));
      // Headers are what lists show; a message is had when a part of its content is had to the end.
      isWhole ||= from + count >= bytes.length && ['all', 'TEXT'].includes(section.kind);
    }
  }
  return { answer: Buffer.concat(pieces), isWhole };
}

async function plainField(mailbox: Mailbox, item: MailItem, field: string): Promise<string> {
  switch (field) {
    case 'FLAGS':
      return `(${writeFlags(item.flags)})`;
    case 'UID':
      return String(item.uid);
    case 'INTERNALDATE':
      return writeDateTime(item.receivedAt);
    default:
      return String(await mailbox.size(item));
  }
}

async function sectionOf(
  mailbox: Mailbox,
  cache: FactsCache,
  item: MailItem,
  section: Section,
): Promise<Uint8Array | undefined | 'gone'> {
  if (section.numbers.length === 0 && section.kind.startsWith('HEADER')) {
    const facts = await findFacts(mailbox, cache, item);
    if (facts === undefined) return 'gone';
    return readSection(parseEntity(facts.header), section);
  }
  const bytes = await mailbox.read(item);
  return bytes === undefined ? 'gone' : readSection(parseEntity(bytes), section);
}

export async function findFacts(
  mailbox: Mailbox,
  cache: FactsCache,
  item: MailItem,
): Promise<MessageFacts | undefined> {
  // Another form of the mailbox has other sizes.
  const key = `${mailbox.accountId} ${mailbox.name} ${item.uid} ${item.sizeBytes ?? ''}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const bytes = await mailbox.read(item);
  if (bytes === undefined) return undefined;
  const facts = describe(parseEntity(bytes));
  if (facts.header.length <= maxCachedHeader) cache.set(key, facts);
  return facts;
}

function describe(entity: MimeEntity): MessageFacts {
  return {
    envelope: writeEnvelope(entity),
    body: writeStructure(entity, false),
    structure: writeStructure(entity, true),
    header: Buffer.from(entity.bytes.subarray(0, entity.bytes.length - entity.bodyBytes.length)),
  };
}

const flagNames = [
  ['\\Seen', mailFlags.seen],
  ['\\Answered', mailFlags.answered],
  ['\\Flagged', mailFlags.flagged],
  ['\\Deleted', mailFlags.deleted],
  ['\\Draft', mailFlags.draft],
] as const;

/** States of sent messages: `$Failed`. */
const keywords = Object.entries(stateFlags).map(
  ([state, bit]) => [`$${state[0]?.toUpperCase()}${state.slice(1)}`, bit] as const,
);

export const allFlags = flagNames.map(([name]) => name).join(' ');
export const allKeywords = keywords.map(([name]) => name).join(' ');

export const keywordBit = (keyword: string): number =>
  keywords.find(([name]) => name.toLowerCase() === keyword.toLowerCase())?.[1] ?? 0;

export function writeFlags(flags: number): string {
  return [...flagNames, ...keywords]
    .filter(([, bit]) => (flags & bit) !== 0)
    .map(([name]) => name)
    .join(' ');
}

/** Keywords are not kept, and \Recent cannot be set (RFC 9051 §2.3.2). */
export function readFlags(names: readonly string[]): number {
  return flagNames
    .filter(([flag]) => names.some((name) => name.toLowerCase() === flag.toLowerCase()))
    .reduce((flags, [, bit]) => flags | bit, 0);
}
