import { isUtf8 } from 'node:buffer';
import { viewAsBuffer } from '../../core/index.ts';
import { decodeXml } from './decode-xml.ts';
import { createXmlParser, XmlRefusal } from './xml-parser.ts';

/**
 * The first position at which an XML document is not well formed (XML 1.0 §2.1). It quotes nothing of the
 * document.
 */
export interface XmlFault {
  /** From 1. */
  readonly line: number;
  /** In characters, from 0. */
  readonly column: number;
  /** The document says that it is a clinical document (HL7 CDA R2). */
  readonly isCda: boolean;
  /** A byte there is not of UTF-8, which is the encoding of XML that declares no other. */
  readonly isBadUtf8: boolean;
  /**
   * Nothing is wrong up to there, but its elements are nested too deep, or have too many attributes, for any
   * reader.
   */
  readonly isExcessive: boolean;
}

const chunkCharacters = 65_536;
const rootBytes = 8192;

/**
 * Undefined for a document that is well formed, and for one with a DOCTYPE, whose entities only a validating
 * reader knows. Namespaces are not checked. About 20 ms per megabyte.
 */
export function findXmlFault(content: Uint8Array): XmlFault | undefined {
  const text = decodeXml(content);
  const head = text.slice(0, rootBytes);
  if (head.includes('<!DOCTYPE')) return undefined;
  const isCda = /<(?:[\w.-]+:)?ClinicalDocument[\s/>]/.test(head) && head.includes('urn:hl7-org:v3');
  const isBadUtf8 = isBrokenUtf8(content, head);
  const fault = isBadUtf8 ? { ...findBadUtf8(content), isExcessive: false } : parse(text);
  return fault && { ...fault, isCda, isBadUtf8 };
}

/**
 * Bytes that are not of the encoding are a fatal error (XML 1.0 §4.3.3); other encodings have hardly any such
 * bytes.
 */
function isBrokenUtf8(content: Uint8Array, head: string): boolean {
  const declared = /^\uFEFF?<\?xml[^>]*encoding\s*=\s*["']([\w.-]{1,40})["']/.exec(head)?.[1] ?? 'utf-8';
  const isUtf16 =
    (content[0] === 0xff && content[1] === 0xfe) || (content[0] === 0xfe && content[1] === 0xff);
  return !isUtf16 && declared.toLowerCase() === 'utf-8' && !isUtf8(viewAsBuffer(content));
}

type Place = Pick<XmlFault, 'line' | 'column'>;

const replacement = '\ufffd';
const replacementBytes = Buffer.from(replacement);

/**
 * Decoding puts a replacement character in the place of a bad byte; one that the document contains has its
 * own bytes.
 */
function findBadUtf8(content: Uint8Array): Place {
  const bytes = viewAsBuffer(content);
  const text = bytes.toString();
  let at = text.indexOf(replacement);
  let offset = Buffer.byteLength(text.slice(0, at));
  while (bytes.subarray(offset, offset + replacementBytes.length).equals(replacementBytes)) {
    const next = text.indexOf(replacement, at + 1);
    offset += Buffer.byteLength(text.slice(at, next));
    at = next;
  }
  const lines = text.slice(0, at).split(/\r\n?|\n/);
  return { line: lines.length, column: lines.at(-1)?.length ?? 0 };
}

function parse(text: string): (Place & Pick<XmlFault, 'isExcessive'>) | undefined {
  const parser = createXmlParser({}, false);
  try {
    for (let from = 0; from < text.length; from += chunkCharacters)
      parser.write(text.slice(from, from + chunkCharacters));
    parser.close();
    return undefined;
  } catch (error) {
    return { line: parser.line, column: parser.column, isExcessive: error instanceof XmlRefusal };
  }
}
