import { isOid } from '../values/index.ts';
import { decodeXml } from './decode-xml.ts';
import type { CodedValue } from './entries.ts';
import { normalizeDtm } from './hl7-values.ts';
import { createXmlParser } from './xml-parser.ts';

/** Facts from the header of a clinical document (HL7 CDA R2). */
export interface CcdaHeader {
  /** ClinicalDocument/id: root and, if there is one, extension. */
  readonly id: { readonly root: string; readonly extension: string } | undefined;
  readonly title: string | undefined;
  readonly effectiveTime: string | undefined;
  readonly code: CodedValue | undefined;
  readonly languageCode: string | undefined;
  readonly confidentialityCode: CodedValue | undefined;
  /**
   * Root and extension, for example `2.16.840.1.113883.10.20.22.1.1^2015-08-01`; without the caret if there
   * is no extension.
   */
  readonly templateIds: readonly string[];
}

/** The header's own fields come first in a CDA; the rest of a document is never looked at. */
const maxHeaderBytes = 262_144;
const chunkCharacters = 8192;
const cdaNamespace = 'urn:hl7-org:v3';
const lastHeaderElements = new Set(['recordTarget', 'author', 'custodian', 'component', 'relatedDocument']);

interface State {
  depth: number;
  isDone: boolean;
  isCda: boolean;
  isInTitle: boolean;
  title: string;
  readonly elements: Map<string, Readonly<Record<string, string>>>;
  readonly templateIds: string[];
}

/**
 * Reads the header of a C-CDA document; undefined for anything else, a document with a DOCTYPE included
 * (SEC-11). Never throws: the document travels as opaque bytes whatever is in it.
 */
export function sniffCcda(content: Uint8Array): CcdaHeader | undefined {
  const text = decodeXml(trimToCharacter(content.subarray(0, maxHeaderBytes)));
  if (!text.includes('ClinicalDocument') || text.includes('<!DOCTYPE')) return undefined;
  const state: State = {
    depth: 0,
    isDone: false,
    isCda: false,
    isInTitle: false,
    title: '',
    elements: new Map(),
    templateIds: [],
  };
  readHeader(text, state);
  return state.isCda ? describe(state) : undefined;
}

/** The cut may fall within a UTF-8 character; its remaining bytes are dropped. */
function trimToCharacter(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 4 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  return end > 0 && bytes.length >= maxHeaderBytes && (bytes[end - 1] ?? 0) >= 0xc0
    ? bytes.subarray(0, end - 1)
    : bytes;
}

function readHeader(text: string, state: State): void {
  const parser = createXmlParser({
    open(tag) {
      const attributes = Object.fromEntries(
        Object.values(tag.attributes).map((attribute) => [attribute.local, attribute.value]),
      );
      openElement(state, tag.local, tag.uri, attributes);
    },
    text(piece) {
      if (state.isInTitle && state.title.length < 1000) state.title += piece;
    },
    close() {
      state.depth--;
      state.isInTitle &&= state.depth > 1;
    },
  });
  try {
    for (let from = 0; from < text.length && !state.isDone; from += chunkCharacters)
      parser.write(text.slice(from, from + chunkCharacters));
  } catch {
    // The data before the fault is still valid.
  }
}

function openElement(
  state: State,
  name: string,
  uri: string,
  attributes: Readonly<Record<string, string>>,
): void {
  if (state.depth === 0) state.isCda = name === 'ClinicalDocument' && uri === cdaNamespace;
  state.depth++;
  if (state.depth === 1 && !state.isCda) state.isDone = true;
  if (state.depth !== 2 || uri !== cdaNamespace || state.isDone) return;
  if (lastHeaderElements.has(name)) state.isDone = true;
  else if (name === 'templateId') state.templateIds.push(templateOf(attributes));
  else if (!state.elements.has(name)) {
    state.elements.set(name, attributes);
    state.isInTitle = name === 'title';
  }
}

function templateOf({ root = '', extension = '' }: Readonly<Record<string, string>>): string {
  return extension === '' ? root : `${root}^${extension}`;
}

function describe(state: State): CcdaHeader {
  const id = state.elements.get('id');
  const title = state.title.replace(/\s+/g, ' ').trim();
  return {
    id:
      id?.['root'] === undefined || id['nullFlavor'] !== undefined
        ? undefined
        : { root: id['root'], extension: id['extension'] ?? '' },
    title: title === '' ? undefined : title,
    effectiveTime: normalizeDtm(state.elements.get('effectiveTime')?.['value'] ?? ''),
    code: codeOf(state.elements.get('code')),
    languageCode: state.elements.get('languageCode')?.['code'],
    confidentialityCode: codeOf(state.elements.get('confidentialityCode')),
    templateIds: state.templateIds,
  };
}

function codeOf(attributes: Readonly<Record<string, string>> | undefined): CodedValue | undefined {
  const { code = '', codeSystem = '', displayName = code } = attributes ?? {};
  return code === '' || !isOid(codeSystem) ? undefined : { code, codingScheme: codeSystem, displayName };
}
