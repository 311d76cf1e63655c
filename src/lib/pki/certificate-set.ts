import { viewAsBuffer } from '../../core/index.ts';
import {
  Asn1Error,
  childAt,
  encodedBytes,
  isContext,
  isUniversal,
  readAsn1,
  readOid,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import { readCertificate, type Certificate } from './certificate.ts';
import { nameKey, readRelativeNames } from './distinguished-name.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';
import { isPem, readPem } from './pem.ts';

/** Largest number of certificates per set. The largest public trust bundles contain a few hundred. */
const maxCertificatesInSet = 2_000;

export interface ReadSetOptions {
  /**
   * Only the first so many are read, the others ignored: for files that an outsider has chosen. Default: all.
   */
  readonly first?: number;
  /** Those with this subject come first, so that `first` leaves them in, however large the set. */
  readonly subjectKey?: string;
  /**
   * Called for each certificate that cannot be read, which is then left out; if none can, the first error is
   * thrown. Default: it always is.
   */
  readonly onUnreadable?: (error: PkiError) => void;
}

/**
 * Reads every certificate of a file: PEM with any number of blocks, one DER certificate, or PKCS#7 (p7b, p7c;
 * DER or BER, with or without text armour). Order is kept; other blocks, CRLs and signatures are skipped.
 *
 * Errors: `PKI_CERTIFICATE_SET_MALFORMED` if there is no certificate in it, `PKI_CERTIFICATE_MALFORMED`,
 * `PKI_TOO_MANY_CERTIFICATES`.
 */
export function readCertificates(
  bytes: Uint8Array | string,
  { first = maxCertificatesInSet, subjectKey, onUnreadable }: ReadSetOptions = {},
): Certificate[] {
  const view = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : viewAsBuffer(bytes);
  const encoded = view[0] !== 0x30 && isPem(view) ? fromPem(view) : fromDer(view);
  if (encoded.length === 0) throw new PkiError('PKI_CERTIFICATE_SET_MALFORMED', 'no certificate in it');
  if (encoded.length > maxCertificatesInSet && subjectKey === undefined) {
    throw new PkiError('PKI_TOO_MANY_CERTIFICATES', `more than ${maxCertificatesInSet} certificates`);
  }
  const taken = (subjectKey === undefined ? encoded : sortBySubject(encoded, subjectKey)).slice(0, first);
  return onUnreadable === undefined
    ? taken.map((der) => readCertificate(der))
    : readReadable(taken, onUnreadable);
}

function sortBySubject(encoded: readonly Uint8Array[], subjectKey: string): Uint8Array[] {
  const { named = [], other = [] } = Object.groupBy(encoded, (der) =>
    findSubject(der) === subjectKey ? 'named' : 'other',
  );
  return [...named, ...other];
}

/** The subject as a key, without reading the rest; undefined if it cannot be read. */
function findSubject(encoded: Uint8Array): string | undefined {
  try {
    const body = childAt(readAsn1(encoded, { maxDepth: 32, maxNodes: 20_000 }), 0);
    return nameKey(readRelativeNames(childAt(body, isContext(body.children[0], 0) ? 5 : 4)));
  } catch (error) {
    if (error instanceof Asn1Error || error instanceof PkiError) return undefined;
    throw error;
  }
}

function readReadable(
  encoded: readonly Uint8Array[],
  onUnreadable: (error: PkiError) => void,
): Certificate[] {
  const faults: PkiError[] = [];
  const certificates = encoded.flatMap((der) => {
    try {
      return [readCertificate(der)];
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      faults.push(error);
      return [];
    }
  });
  const [first] = faults;
  if (certificates.length === 0 && first !== undefined) throw first;
  faults.forEach((fault) => onUnreadable(fault));
  return certificates;
}

const certificateLabels: ReadonlySet<string> = new Set(['CERTIFICATE', 'X509 CERTIFICATE']);
const setLabels: ReadonlySet<string> = new Set(['PKCS7', 'PKCS #7 SIGNED DATA', 'CMS']);

function fromPem(view: Buffer): Uint8Array[] {
  return readPem(view.toString('latin1')).flatMap(({ label, der }) => {
    if (setLabels.has(label)) return fromDer(der);
    if (!certificateLabels.has(label)) return [];
    // Some CAs write CERTIFICATE around a set, too.
    return beginsAsSet(der) ? fromDer(der) : [der];
  });
}

/** A ContentInfo begins with an OID, a certificate with a SEQUENCE. */
function beginsAsSet(der: Uint8Array): boolean {
  const lengthOctets = (der[1] ?? 0) > 0x80 ? (der[1] ?? 0) & 0x7f : 0;
  return der[2 + lengthOctets] === tags.oid;
}

function fromDer(bytes: Uint8Array): Uint8Array[] {
  const root = readRoot(bytes);
  return isUniversal(root.children[0], tags.oid) ? signedDataCertificates(root).map(encodedBytes) : [bytes];
}

function readRoot(bytes: Uint8Array): Asn1 {
  try {
    return readAsn1(bytes);
  } catch (error) {
    if (!(error instanceof Asn1Error)) throw error;
    throw new PkiError('PKI_CERTIFICATE_SET_MALFORMED', `neither PEM nor DER: ${error.message}`, {
      cause: error,
    });
  }
}

/**
 * The certificate elements of a ContentInfo that holds SignedData (RFC 5652 §5.1), other kinds of
 * certificates left out.
 */
function signedDataCertificates(root: Asn1): Asn1[] {
  const set = signedDataOf(root).children.find((part) => isContext(part, 0));
  return (set?.children ?? []).filter((choice) => isUniversal(choice, tags.sequence));
}

/** The SignedData inside a ContentInfo. Errors: `PKI_CERTIFICATE_SET_MALFORMED` for any other content. */
export function signedDataOf(root: Asn1): Asn1 {
  try {
    if (readOid(childAt(root, 0)) === oids.pkcs7SignedData) return childAt(childAt(root, 1), 0);
  } catch (error) {
    if (!(error instanceof Asn1Error)) throw error;
  }
  throw new PkiError('PKI_CERTIFICATE_SET_MALFORMED', 'not a PKCS#7 certificate set');
}
