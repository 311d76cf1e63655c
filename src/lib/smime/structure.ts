import { concatBytes } from '../../core/index.ts';
import {
  Asn1Error,
  childAt,
  encodedBytes,
  isContext,
  isUniversal,
  octetStringPieces,
  readAsn1,
  readOid,
  sequenceItems,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import { SmimeError } from './errors.ts';
import { limits } from './policy.ts';

/** Several byte strings that stand for their concatenation, so that nothing large is copied. */
export type Pieces = readonly Uint8Array[];

/** AlgorithmIdentifier (RFC 5280 §4.1.1.2). */
export interface Algorithm {
  readonly oid: string;
  /** Absent for NULL, which many write where nothing belongs and vice versa. */
  readonly parameters: Asn1 | undefined;
}

/** Reads the fields of a SEQUENCE in order, so that one too many is noticed. */
export interface Fields {
  take(): Asn1;
  /** The next field if it is `[n]`, else undefined. */
  takeContext(n: number): Asn1 | undefined;
  /** The next field if it has that universal tag, else undefined. */
  takeUniversal(tagNumber: number): Asn1 | undefined;
  /** Errors: `SMIME_CMS_MALFORMED` if something is left. */
  finish(): void;
}

/** Of a SEQUENCE, or of an implicitly tagged one. */
export function readFields(node: Asn1): Fields {
  const items = node.tagClass === 0 ? sequenceItems(node) : node.children;
  let next = 0;
  const takeIf = (matches: (item: Asn1 | undefined) => item is Asn1): Asn1 | undefined => {
    const item = items[next];
    return matches(item) ? items[next++] : undefined;
  };
  return {
    take: () => childAt(node, next++),
    takeContext: (n) => takeIf((item) => isContext(item, n)),
    takeUniversal: (tagNumber) => takeIf((item) => isUniversal(item, tagNumber)),
    finish: () => {
      if (next < items.length) throw malformed('a field too many');
    },
  };
}

export interface ContentInfo {
  readonly contentType: string;
  readonly content: Asn1;
}

/**
 * RFC 5652 §3. Line ends after it are skipped: mail servers put them behind binary bodies.
 * Errors: `SMIME_CMS_MALFORMED`, `SMIME_TRAILING_DATA`.
 */
export function readContentInfo(bytes: Uint8Array): ContentInfo {
  return readingCms(() => {
    const root = readAsn1(bytes, { maxNodes: limits.nodes, allowTrailing: true });
    if (!isUniversal(root, tags.sequence)) throw malformed('the bytes do not begin as CMS does');
    if (bytes.subarray(root.end).some((byte) => byte !== 0x0d && byte !== 0x0a)) {
      throw new SmimeError('SMIME_TRAILING_DATA', 'bytes follow the CMS structure');
    }
    const fields = readFields(root);
    const contentType = readOid(fields.take());
    const wrapper = fields.takeContext(0);
    fields.finish();
    if (wrapper?.children.length !== 1) throw malformed('a ContentInfo without its one content');
    return { contentType, content: childAt(wrapper, 0) };
  });
}

export function readAlgorithm(node: Asn1): Algorithm {
  const fields = readFields(node);
  const oid = readOid(fields.take());
  const parameters = fields.takeUniversal(tags.null) === undefined ? node.children[1] : undefined;
  if (node.children.length > 2) throw malformed('an algorithm with more than parameters');
  return { oid, parameters };
}

/** The same algorithm with the same parameters; NULL and absent parameters are equal. */
export function isSameAlgorithm(a: Algorithm, b: Algorithm): boolean {
  const parametersOf = ({ parameters }: Algorithm) =>
    parameters === undefined ? noBytes : encodedBytes(parameters);
  return a.oid === b.oid && Buffer.compare(parametersOf(a), parametersOf(b)) === 0;
}

const noBytes = new Uint8Array();

/** The pieces of an OCTET STRING. Errors: those of lib/asn1. */
export function readPieces(node: Asn1): Pieces {
  if (!isUniversal(node, tags.octetString)) throw malformed('no octet string where one belongs');
  return octetStringPieces(node);
}

export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

export function piecesOf(bytes: Uint8Array | Pieces): Pieces {
  return bytes instanceof Uint8Array ? [bytes] : bytes;
}

/** The pieces as one; the only piece itself, uncopied. */
export function joinPieces(pieces: Pieces): Uint8Array {
  const [only, ...rest] = pieces;
  return only !== undefined && rest.length === 0 ? only : concatBytes(pieces);
}

/** Runs a reader and turns the errors of lib/asn1 into ours. */
export function readingCms<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Asn1Error)) throw error;
    throw new SmimeError('SMIME_CMS_MALFORMED', `not CMS: ${error.message}`, { cause: error });
  }
}

export function malformed(what: string): SmimeError {
  return new SmimeError('SMIME_CMS_MALFORMED', what);
}
