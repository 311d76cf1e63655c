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
 * do. What follows its last element is not looked at; an `&` that begins no entity and characters that XML
 * does not have are read as what they are. Undefined if it is otherwise not well-formed, has a DOCTYPE
 * (SEC-11) or is out of all proportion.
 */
export function readRegistryObjects(xml: string): RegistryObject[] | undefined {
  const objects = readWellFormed(xml);
  const repaired =
    objects === undefined ? xml.replace(bareAmpersand, '&amp;').replace(noCharacter, ' ') : xml;
  return repaired === xml ? objects : readWellFormed(repaired);
}

const bareAmpersand = /&(?!(?:#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos);)/gi;
// oxlint-disable-next-line no-control-regex
const noCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;

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
