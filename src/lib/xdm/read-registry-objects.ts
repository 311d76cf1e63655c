import { createXmlParser, XmlRefusal } from './xml-parser.ts';

/**
 * An object of ebRS 3.0 with its slots, classifications and identifiers, as far as IHE's metadata use them.
 */
export interface RegistryObject {
  /** Local name: ExtrinsicObject, RegistryPackage, Classification, ExternalIdentifier or Association. */
  readonly kind: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly slots: Map<string, string[]>;
  name: string | undefined;
  description: string | undefined;
  readonly children: RegistryObject[];
}

const objectKinds = new Set([
  'ExtrinsicObject',
  'RegistryPackage',
  'Classification',
  'ExternalIdentifier',
  'Association',
]);
const maxElements = 100_000;

interface Reader {
  readonly roots: RegistryObject[];
  readonly open: RegistryObject[];
  readonly path: string[];
  slotName: string;
  value: string | undefined;
  elements: number;
}

/**
 * Reads the registry objects of a metadata document, by local names, so that any prefix and any envelope will
 * do. What follows its last element is not looked at; an `&` that begins no entity is read as one, and
 * characters that XML does not have as blanks, references to them too. Undefined if it is otherwise not
 * well-formed, has a DOCTYPE (SEC-11) or is out of all proportion.
 */
export function readRegistryObjects(xml: string): RegistryObject[] | undefined {
  const objects = readWellFormed(xml);
  const repaired = objects === undefined ? repair(xml) : xml;
  return repaired === xml ? objects : readWellFormed(repaired);
}

const noCharacter = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ampersand = /&(?:(?:amp|lt|gt|quot|apos);|#(?:(\d{1,7})|x([\da-f]{1,6}));)?/gi;
const cdata = '<![CDATA[';

function repair(xml: string): string {
  const [first = '', ...others] = xml.replace(noCharacter, ' ').split(cdata);
  const rest = others.map((piece) => {
    // Inside of CDATA an ampersand is one.
    const end = piece.indexOf(']]>');
    return end < 0 ? piece : piece.slice(0, end) + repairAmpersands(piece.slice(end));
  });
  return [repairAmpersands(first), ...rest].join(cdata);
}

/** What a reference to no character means is a blank, as such a character itself is. */
function repairAmpersands(text: string): string {
  return text.replace(ampersand, (written: string, decimal?: string, hex?: string) => {
    if (written === '&') return '&amp;';
    const code = decimal === undefined ? Number.parseInt(hex ?? '20', 16) : Number(decimal);
    return code <= 0x10_ffff && String.fromCodePoint(code).replace(noCharacter, '') !== '' ? written : ' ';
  });
}

function readWellFormed(xml: string): RegistryObject[] | undefined {
  const reader: Reader = { roots: [], open: [], path: [], slotName: '', value: undefined, elements: 0 };
  const addText = (text: string): void => {
    if (reader.value !== undefined) reader.value += text;
  };
  const parser = createXmlParser({
    open(tag) {
      if (++reader.elements > maxElements) throw new XmlRefusal('too many elements');
      const attributes = Object.fromEntries(
        Object.values(tag.attributes).map((attribute) => [attribute.local, attribute.value]),
      );
      openElement(reader, tag.local, attributes);
    },
    text: addText,
    close: (name) => closeElement(reader, name),
  });
  try {
    parser.write(xml);
    parser.close();
    return reader.roots;
  } catch (error) {
    const isWhole = reader.roots.length > 0 && reader.path.length === 0 && !(error instanceof XmlRefusal);
    return isWhole ? reader.roots : undefined;
  }
}

function openElement(reader: Reader, name: string, attributes: Readonly<Record<string, string>>): void {
  const current = reader.open.at(-1);
  if (objectKinds.has(name)) {
    const object: RegistryObject = {
      kind: name,
      attributes,
      slots: new Map(),
      name: undefined,
      description: undefined,
      children: [],
    };
    if (current === undefined) reader.roots.push(object);
    else current.children.push(object);
    reader.open.push(object);
  } else if (name === 'Slot') reader.slotName = attributes['name'] ?? '';
  else if (name === 'Value') reader.value = '';
  else if (name === 'LocalizedString' && current !== undefined) {
    if (reader.path.at(-1) === 'Name') current.name ??= attributes['value'];
    if (reader.path.at(-1) === 'Description') current.description ??= attributes['value'];
  }
  reader.path.push(name);
}

function closeElement(reader: Reader, name: string): void {
  reader.path.pop();
  if (objectKinds.has(name)) reader.open.pop();
  if (name !== 'Value' || reader.value === undefined) return;
  const slots = reader.open.at(-1)?.slots;
  const values = slots?.get(reader.slotName);
  if (values !== undefined) values.push(reader.value.trim());
  else slots?.set(reader.slotName, [reader.value.trim()]);
  reader.value = undefined;
}
