import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError } from '../../core/index.ts';
import {
  Asn1Error,
  childAt,
  contentBytes,
  encodedBytes,
  isContext,
  readAsn1,
  readBitString,
  readSmallInteger,
  readTime,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import { nameKey, readRelativeNames } from './distinguished-name.ts';
import { scanElements, scanEntries } from './crl-entries.ts';
import { PkiError } from './errors.ts';
import { derOf } from './pem.ts';
import { readExtensionList, readIssuerUrls, type RawExtension } from './extensions.ts';
import { oids } from './oids.ts';

/** Names of CRLReason by value (RFC 5280 §5.3.1); 7 is not used. */
export const crlReasons = [
  'unspecified',
  'keyCompromise',
  'cACompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'certificateHold',
  'unused',
  'removeFromCRL',
  'privilegeWithdrawn',
  'aACompromise',
] as const;

export type CrlReason = (typeof crlReasons)[number];

/** A CRL as received, read but not verified. */
export interface Crl {
  readonly issuerKey: string;
  readonly thisUpdate: Date;
  readonly nextUpdate?: Date;
  readonly entryCount: number;
  readonly extensions: readonly RawExtension[];
  /** Where the certificate of its signer is (RFC 5280 §5.2.7). */
  readonly caIssuerUrls: readonly string[];
  /** Unknown critical extensions of entries: nobody can tell what else is meant by them (RFC 5280 §5.3). */
  readonly hasUnknownCriticalEntry: boolean;
  /** Entries of other issuers, as in an indirect list. */
  readonly hasOtherIssuer: boolean;
  readonly signedBytes: Uint8Array;
  readonly signature: Uint8Array;
  readonly signatureAlgorithm: Asn1;
  /** The entry for a serial number given as the content bytes of its INTEGER. */
  find(serialNumberDer: Uint8Array): { revokedAt: Date; reason?: CrlReason } | undefined;
}

/** Largest CRL read. */
export const maxCrlBytes = 32 * 1024 * 1024;

/**
 * Reads a CRL from DER (RFC 5280 §5.1), or from the PEM that some servers give instead. The list is scanned
 * without building a tree, some 100 ms for 100,000 entries. Errors: `PKI_CRL_MALFORMED`, `PKI_TOO_LARGE`.
 */
export function readCrl(bytes: Uint8Array): Crl {
  const steps = readInSteps(bytes);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, in several turns of the event loop if the list is long. */
export async function readCrlInTurns(bytes: Uint8Array): Promise<Crl> {
  const steps = readInSteps(bytes);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}

function* readInSteps(bytes: Uint8Array): Generator<undefined, Crl> {
  if (bytes.length > maxCrlBytes)
    throw new PkiError('PKI_TOO_LARGE', `a CRL of ${bytes.length} bytes, more than ${maxCrlBytes}`);
  try {
    return yield* readFields(unwrap(bytes));
  } catch (error) {
    if (!(error instanceof Asn1Error)) throw error;
    throw malformed(`not a CRL: ${error.message}`, error);
  }
}

/** Out of `X509 CRL`, or `CRL` as an older rule has it. */
function unwrap(bytes: Uint8Array): Uint8Array {
  try {
    return derOf(bytes, 'CRL');
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw malformed(`not a CRL: ${error.message}`, error);
  }
}

function* readFields(bytes: Uint8Array): Generator<undefined, Crl> {
  const outer = scanElements(bytes, 0, bytes.length);
  const [whole] = outer;
  if (whole === undefined || outer.length !== 1 || whole.tagByte !== 0x30)
    throw malformed('not one SEQUENCE');
  const [body, algorithm, signatureNode, ...rest] = scanElements(bytes, whole.contentStart, whole.end);
  if (body?.tagByte !== 0x30 || algorithm === undefined || signatureNode === undefined || rest.length > 0) {
    throw malformed('not the three parts of a CRL');
  }
  const parse = (element: { start: number; end: number }): Asn1 =>
    readAsn1(bytes.subarray(element.start, element.end), { strictDer: true, maxDepth: 16, maxNodes: 10_000 });
  const signatureAlgorithm = parse(algorithm);
  const { unusedBits, bytes: signature } = readBitString(parse(signatureNode));
  if (unusedBits !== 0) throw malformed('a signature that is not whole bytes');
  const fields = readBody(bytes, body, parse);
  // RFC 5280 §5.1.1.2, as for certificates.
  if (Buffer.compare(encodedBytes(fields.algorithm), encodedBytes(signatureAlgorithm)) !== 0) {
    throw malformed('two different signature algorithms');
  }
  const entries = yield* scanEntries(bytes, fields.list);
  return {
    issuerKey: nameKey(readRelativeNames(fields.issuer)),
    thisUpdate: fields.thisUpdate,
    ...(fields.nextUpdate && { nextUpdate: fields.nextUpdate }),
    entryCount: entries.count,
    extensions: fields.extensions,
    caIssuerUrls: readSignerUrls(fields.extensions),
    hasUnknownCriticalEntry: entries.hasUnknownCritical,
    hasOtherIssuer: entries.hasOtherIssuer,
    signedBytes: bytes.subarray(body.start, body.end),
    signature,
    signatureAlgorithm,
    find: (serialNumberDer) => {
      const start = entries.find(serialNumberDer);
      return start === undefined ? undefined : findEntryDetails(bytes.subarray(start), fields.thisUpdate);
    },
  };
}

function readSignerUrls(extensions: readonly RawExtension[]): readonly string[] {
  const access = extensions.find(({ oid }) => oid === oids.authorityInfoAccess);
  return access === undefined ? [] : readIssuerUrls(readAsn1(access.value, { maxNodes: 2_000 }));
}

interface Element {
  readonly tagByte: number;
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

function readBody(bytes: Uint8Array, body: Element, parse: (element: Element) => Asn1) {
  const elements = [...scanElements(bytes, body.contentStart, body.end)];
  const take = (what: string): Element => {
    const element = elements.shift();
    if (element === undefined) throw malformed(`no ${what}`);
    return element;
  };
  if (elements[0]?.tagByte === tags.integer) checkVersion(parse(take('version')));
  const algorithm = parse(take('algorithm'));
  const issuer = parse(take('issuer'));
  const thisUpdate = readTime(parse(take('thisUpdate')));
  const hasNext = elements[0]?.tagByte === tags.utcTime || elements[0]?.tagByte === tags.generalizedTime;
  const nextUpdate = hasNext ? readTime(parse(take('nextUpdate'))) : undefined;
  const list = elements[0]?.tagByte === 0x30 ? take('entries') : undefined;
  const extensions =
    elements[0]?.tagByte === 0xa0 ? readExtensionList(childAt(parse(take('extensions')), 0)) : [];
  if (elements.length > 0) throw malformed('an unknown field');
  return { algorithm, issuer, thisUpdate, nextUpdate, extensions, list };
}

function checkVersion(node: Asn1): void {
  if (readSmallInteger(node) !== 1) throw malformed('not version 2');
}

/** An entry that cannot be read still revokes: only its date and reason are lost. */
function findEntryDetails(bytes: Uint8Array, thisUpdate: Date): { revokedAt: Date; reason?: CrlReason } {
  try {
    return readEntry(readAsn1(bytes, { allowTrailing: true, maxNodes: 200 }));
  } catch (error) {
    if (error instanceof CodedError) return { revokedAt: thisUpdate };
    throw error;
  }
}

function readEntry(node: Asn1): { revokedAt: Date; reason?: CrlReason } {
  const revokedAt = readTime(childAt(node, 1));
  const found = readExtensionList(node.children[2]).find((extension) => extension.oid === oids.crlReason);
  const reason = found && crlReasons[readSmallInteger(readAsn1(found.value))];
  return { revokedAt, ...(reason && { reason }) };
}

/**
 * Issuing distribution point (RFC 5280 §5.2.5) of a CRL, or undefined if it covers everything of its issuer.
 */
export interface CrlScope {
  /** Exact names of the distribution point; empty if none is given. */
  readonly pointNodes: readonly Asn1[];
  readonly isForUsersOnly: boolean;
  readonly isForAuthoritiesOnly: boolean;
  /**
   * Some reasons only, or a point whose name is not compared here: a certificate that is absent can be
   * revoked all the same.
   */
  readonly isPartial: boolean;
  /** Attribute certificates, or certificates of other issuers. */
  readonly isForOthers: boolean;
}

export function readCrlScope(crl: Crl): CrlScope | undefined {
  const extension = crl.extensions.find(({ oid }) => oid === oids.issuingDistributionPoint);
  if (extension === undefined) return undefined;
  const { children } = readAsn1(extension.value, { maxNodes: 2_000 });
  const element = (tag: number): Asn1 | undefined => children.find((child) => isContext(child, tag));
  const flag = (tag: number): boolean => {
    const node = element(tag);
    return node !== undefined && contentBytes(node)[0] !== 0;
  };
  const name = element(0)?.children[0];
  return {
    pointNodes: isContext(name, 0) ? name.children : [],
    isForUsersOnly: flag(1),
    isForAuthoritiesOnly: flag(2),
    isPartial: element(3) !== undefined || isContext(name, 1),
    isForOthers: flag(4) || flag(5),
  };
}

function malformed(what: string, cause?: Error): PkiError {
  return new PkiError('PKI_CRL_MALFORMED', what, { cause });
}
