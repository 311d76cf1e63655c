import { viewAsBuffer } from '../../core/index.ts';
import { childAt, contentBytes, encodedBytes, readOid, sequenceItems, type Asn1 } from '../asn1/index.ts';

import { readRelativeNames, type RelativeNames } from './distinguished-name.ts';

/** Tags of GeneralName (RFC 5280 §4.2.1.6). */
const tagOther = 0;
const tagRfc822 = 1;
const tagDns = 2;
const tagDirectory = 4;
const tagUri = 6;

/**
 * The names of a GeneralNames value by kind.
 *
 * Text is accepted only if it is printable ASCII without blanks, which every legal rfc822Name, dNSName and
 * URI is; any other (with NUL, control or 8-bit characters, by which one name can be made to look like
 * another) is counted in `malformedCount`.
 */
export interface GeneralNames {
  readonly rfc822Names: readonly string[];
  readonly dnsNames: readonly string[];
  readonly uris: readonly string[];
  readonly directoryNames: readonly RelativeNames[];
  /** OIDs of otherName values; the values themselves are not read. */
  readonly otherNameOids: readonly string[];
  /** Kinds (tag numbers) that occur, understood here or not. */
  readonly kinds: ReadonlySet<number>;
  readonly malformedCount: number;
}

/** Reads a SEQUENCE OF GeneralName, or the content of an implicitly tagged one. Errors: those of lib/asn1. */
function readGeneralNames(nodes: readonly Asn1[]): GeneralNames {
  const texts = new Map<number, string[]>([
    [tagRfc822, []],
    [tagDns, []],
    [tagUri, []],
  ]);
  const directoryNames: RelativeNames[] = [];
  const otherNameOids: string[] = [];
  let malformedCount = 0;
  for (const node of nodes) {
    const list = texts.get(node.tagNumber);
    if (list !== undefined) {
      const text = findPlainText(node);
      if (text === undefined) malformedCount++;
      else list.push(text);
    } else if (node.tagNumber === tagDirectory) directoryNames.push(readRelativeNames(childAt(node, 0)));
    else if (node.tagNumber === tagOther) otherNameOids.push(readOid(childAt(node, 0)));
  }
  return {
    rfc822Names: texts.get(tagRfc822) ?? [],
    dnsNames: texts.get(tagDns) ?? [],
    uris: texts.get(tagUri) ?? [],
    directoryNames,
    otherNameOids,
    kinds: new Set(nodes.map((node) => node.tagNumber)),
    malformedCount,
  };
}

export const noGeneralNames: GeneralNames = readGeneralNames([]);

const plainText = /^[\x21-\x7e]+$/;

/** The text of an IA5String alternative, or undefined if it has a character that no such name may have. */
export function findPlainText(node: Asn1): string | undefined {
  if (node.tagClass !== 2 || node.isConstructed) return undefined;
  const text = Buffer.from(contentBytes(node)).toString('latin1');
  return plainText.test(text) ? text : undefined;
}

/** The URIs of a DistributionPointName or GeneralNames given by its elements; blanks in them are escaped. */
export function readUris(nodes: readonly Asn1[]): string[] {
  return nodes
    .filter((node) => node.tagNumber === tagUri && node.tagClass === 2 && !node.isConstructed)
    .map((node) => viewAsBuffer(contentBytes(node)).toString('latin1').trim().replaceAll(' ', '%20'))
    .filter((text) => plainText.test(text));
}

/** The exact bytes of each name, for comparing names of distribution points. */
export function generalNameKeys(nodes: readonly Asn1[]): string[] {
  return nodes.map((node) => Buffer.from(encodedBytes(node)).toString('hex'));
}

/** The names inside an extension value that is a SEQUENCE OF GeneralName. */
export function readGeneralNamesValue(node: Asn1): GeneralNames {
  return readGeneralNames(sequenceItems(node));
}
