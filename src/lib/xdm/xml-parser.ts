import { SaxesParser, type SaxesTagNS } from 'saxes';

/**
 * What saxes keeps until it is closed: open elements and the attributes of one tag. Clinical documents stay
 * under 40 levels.
 */
const maxDepth = 100;
const maxAttributes = 100;
/** saxes collects a name, a comment or a value in one piece. */
const maxNameCharacters = 1000;

/** The document is out of all proportion, or has a DOCTYPE: it is not read on. */
export class XmlRefusal extends Error {}

export interface XmlHandlers {
  /** With namespaces only. */
  readonly open?: (tag: SaxesTagNS) => void;
  readonly close?: (localName: string) => void;
  readonly text?: (text: string) => void;
}

interface XmlParser {
  write(text: string): void;
  close(): void;
  readonly line: number;
  readonly column: number;
}

/**
 * A parser of one document. It throws saxes' error for the first fault, and XmlRefusal before it holds much.
 */
export function createXmlParser(handlers: XmlHandlers = {}, xmlns = true): XmlParser {
  const parser = new SaxesParser<{ xmlns?: boolean }>({ xmlns });
  let [depth, attributes] = [0, 0];
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', () => {
    throw new XmlRefusal('a DOCTYPE is refused');
  });
  parser.on('opentagstart', ({ name }) => {
    attributes = 0;
    if (++depth > maxDepth) throw new XmlRefusal('the elements are nested too deep');
    if (name.length > maxNameCharacters) throw new XmlRefusal('a name is too long');
  });
  parser.on('attribute', ({ name }) => {
    if (++attributes > maxAttributes) throw new XmlRefusal('an element has too many attributes');
    if (name.length > maxNameCharacters) throw new XmlRefusal('a name is too long');
  });
  const { open } = handlers;
  if (open !== undefined) parser.on('opentag', (tag) => open(tag as SaxesTagNS));
  parser.on('closetag', ({ local }) => {
    depth--;
    handlers.close?.(local ?? '');
  });
  const { text } = handlers;
  if (text !== undefined) {
    parser.on('text', text);
    parser.on('cdata', text);
  }
  return {
    write: (chunk) => void parser.write(chunk),
    close: () => void parser.close(),
    get line() {
      return parser.line;
    },
    get column() {
      return parser.column;
    },
  };
}
