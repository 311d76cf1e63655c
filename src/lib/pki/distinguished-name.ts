import {
  Asn1Error,
  childAt,
  readAsn1,
  readOid,
  readText,
  sequenceItems,
  setItems,
  type Asn1,
} from '../asn1/index.ts';

/** One `type=value` of a distinguished name; the value is absent if it is not text. */
export interface NameAttribute {
  readonly oid: string;
  readonly value?: string;
  /** The comparison key of an attribute: folded text, or the exact bytes of a non-text value. */
  readonly key: string;
}

/** A distinguished name as its relative names in the order of the encoding, each a set of attributes. */
export type RelativeNames = readonly (readonly NameAttribute[])[];

const shortNames: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'emailAddress',
};

/** Reads a Name (RFC 5280 §4.1.2.4). Errors: those of lib/asn1. */
export function readRelativeNames(node: Asn1): RelativeNames {
  return sequenceItems(node).map((relative) => setItems(relative).map(readAttribute));
}

function readAttribute(node: Asn1): NameAttribute {
  const oid = readOid(childAt(node, 0));
  const valueNode = childAt(node, 1);
  const value = findText(valueNode);
  if (value === undefined) {
    const bytes = valueNode.source.subarray(valueNode.start, valueNode.end);
    return { oid, key: `${oid}:${Buffer.from(bytes).toString('hex')}` };
  }
  return { oid, value, key: `${oid}=${foldNameText(value)}` };
}

function findText(node: Asn1): string | undefined {
  try {
    return readText(node);
  } catch {
    return undefined;
  }
}

/** RFC 5280 §7.1 in short: case and runs of blanks do not count. */
function foldNameText(value: string): string {
  return value.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/g, ' ');
}

/**
 * For people, most specific part last, as `CN=alpha anchor, O=alpha`. Control characters are shown as `?`.
 */
export function formatName(names: RelativeNames): string {
  return names.map((relative) => relative.map(formatAttribute).join('+')).join(', ');
}

/** The same of an encoded name that others chose, which may be none. */
export function describeName(encoded: Uint8Array): string {
  try {
    return formatName(readRelativeNames(readAsn1(encoded)));
  } catch (error) {
    if (error instanceof Asn1Error) return 'an unreadable name';
    throw error;
  }
}

function formatAttribute(attribute: NameAttribute): string {
  // The text goes to logs and terminals, so it must not contain control characters.
  const value = (attribute.value ?? '?').replaceAll(/\p{C}/gu, '?');
  return `${shortNames[attribute.oid] ?? attribute.oid}=${value}`;
}

/**
 * The key by which two names are compared (RFC 5280 §7.1): equal keys, equal names. Proves nothing about who
 * uses a name.
 */
export function nameKey(names: RelativeNames): string {
  return JSON.stringify(names.map((relative) => relative.map((attribute) => attribute.key).toSorted()));
}

/** The key of an encoded name that others chose; undefined if it is none. */
export function findNameKey(encoded: Uint8Array): string | undefined {
  try {
    return nameKey(readRelativeNames(readAsn1(encoded)));
  } catch (error) {
    if (error instanceof Asn1Error) return undefined;
    throw error;
  }
}
