import { X509Certificate } from 'node:crypto';
import { flattenedVerify } from 'jose';
import { errorText } from '../../../core/index.ts';
import { readMdnOrDsn } from '../../../lib/mdn/index.ts';
import { parseEntity, readMailboxes, unwrapEntity, type MimeEntity } from '../../../lib/mime/index.ts';
import {
  findValidityFault,
  isBoundTo,
  readCertificate,
  validatePath,
  type Certificate,
} from '../../../lib/pki/index.ts';
import { verifyEntity } from '../../../lib/smime/index.ts';
import { addressKey, domainOf, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { evidenceType, type EvidenceDocument } from '../../../service/messaging/index.ts';

/** The content of an evidence document, and its faults. */
export interface VerifiedEvidence {
  readonly document: Omit<EvidenceDocument, 'result'>;
  /**
   * Certificate of the document's signer. The reader decides whether to trust it: compare the fingerprint.
   */
  readonly signer: { readonly subject: string; readonly fingerprint: string };
  readonly recipients: readonly VerifiedRecipient[];
  /** Empty if every signature holds and everything fits together. */
  readonly problems: readonly string[];
}

interface VerifiedRecipient {
  readonly address: string;
  readonly status: string;
  readonly statusTime: string;
  readonly sent: readonly { readonly time: string; readonly host: string; readonly sha256: string }[];
  readonly mdns: readonly VerifiedMdn[];
}

interface VerifiedMdn {
  readonly receivedTime: string;
  readonly disposition: string;
  readonly signer: string;
  readonly signerPath: readonly string[];
  /** False if the document lacks certificates of the path, which was then not validated again. */
  readonly isPathValidated: boolean;
}

type Recipient = EvidenceDocument['result'][number];
type Mdn = Recipient['mdns'][number];

/**
 * Checks the signature of a document, of each MDN in it, and the path of each MDN's signer at the time when
 * the MDN was received, without revocation. Rejects with a SyntaxError for anything that is not such a
 * document.
 */
export async function verifyEvidence(text: string): Promise<VerifiedEvidence> {
  const problems: string[] = [];
  const { document, certificate } = await readSigned(text, problems);
  const from = findDirectAddress(document.fromDirectAddress);
  if (from === undefined || isBoundTo(certificate, from) === undefined)
    problems.push(`the signer's certificate is not bound to ${document.fromDirectAddress}`);
  const fault = findValidityFault(certificate, new Date(document.createdTime));
  if (fault !== undefined)
    problems.push(`the signer's certificate was not valid at ${document.createdTime}: ${errorText(fault)}`);
  const { result, ...rest } = document;
  const recipients: VerifiedRecipient[] = [];
  for (const recipient of result) recipients.push(await checkRecipient(document, recipient, problems));
  return {
    document: rest,
    signer: describe(certificate),
    recipients,
    problems,
  };
}

/** RFC 7518 §3.1. */
const evidenceAlgorithms = ['RS256', 'ES256', 'ES384', 'ES512'];

async function readSigned(
  text: string,
  problems: string[],
): Promise<{ readonly document: EvidenceDocument; readonly certificate: Certificate }> {
  const jws = readObject(text);
  const [head, payload, signature] = ['protected', 'payload', 'signature'].map((name) => {
    const value = jws[name];
    if (typeof value !== 'string' || !/^[\w-]+$/.test(value))
      throw new SyntaxError(
        `${name} is missing or not base64url: not a document of "openhisp message evidence"`,
      );
    return value;
  }) as [string, string, string];
  const header = readObject(Buffer.from(head, 'base64url').toString(), 'protected');
  const chain: unknown = header['x5c'];
  const der = Array.isArray(chain) ? (chain as readonly unknown[])[0] : undefined;
  if (header['typ'] !== evidenceType || typeof der !== 'string' || header['crit'] !== undefined)
    throw new SyntaxError('protected: not the header of evidence of delivery');
  const certificate = readCertificate(Buffer.from(der, 'base64'));
  try {
    const key = new X509Certificate(certificate.der).publicKey;
    await flattenedVerify({ protected: head, payload, signature }, key, { algorithms: evidenceAlgorithms });
  } catch {
    problems.push('the signature of the document is invalid');
  }
  const document = readObject(Buffer.from(payload, 'base64url').toString(), 'payload');
  if (document['type'] !== 'direct-delivery-evidence' || document['version'] !== 1)
    throw new SyntaxError('payload: not evidence of delivery, version 1');
  return { document: document as unknown as EvidenceDocument, certificate };
}

/** `member` is the name of the part that `text` is; none for the whole document. */
function readObject(text: string, member?: string): Record<string, unknown> {
  const place = member === undefined ? '' : `${member}: `;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SyntaxError(`${place}not JSON`);
  }
  if (typeof value !== 'object' || value === null) throw new SyntaxError(`${place}not a JSON object`);
  return value as Record<string, unknown>;
}

async function checkRecipient(
  document: EvidenceDocument,
  recipient: Recipient,
  problems: string[],
): Promise<VerifiedRecipient> {
  const { toDirectAddress: address, status, statusTime, attempts } = recipient;
  const mdns: VerifiedMdn[] = [];
  for (const mdn of recipient.mdns) {
    try {
      mdns.push(await checkMdn(document, address, mdn));
    } catch (error) {
      problems.push(`an MDN for ${address}: ${errorText(error)}`);
    }
  }
  const confirming = status === 'processed' ? ['processed', 'dispatched'] : [status];
  const isConfirmed = mdns.some(({ disposition }) => confirming.includes(disposition));
  if ((status === 'processed' || status === 'dispatched') && !isConfirmed)
    problems.push(`${address}: the status is ${status}, but no valid MDN in the document says so`);
  return {
    address,
    status,
    statusTime,
    sent: attempts
      .filter(({ sentSha256 }) => sentSha256 !== '')
      .map(({ time, host, sentSha256 }) => ({ time, host, sha256: sentSha256 })),
    mdns,
  };
}

/** Rejects an MDN that is not about this recipient of this message. */
async function checkMdn(document: EvidenceDocument, address: string, mdn: Mdn): Promise<VerifiedMdn> {
  const { entity, signers } = verifyEntity(Buffer.from(mdn.signedMdn, 'base64'));
  const [fingerprint] = mdn.signerPath;
  const signer = signers.find(
    (one) => one.outcome === 'valid' && one.certificate.fingerprint === fingerprint,
  );
  if (signer?.certificate === undefined) throw new RangeError(`not signed by ${fingerprint ?? 'anyone'}`);
  const signed = parseEntity(entity);
  const inner = unwrapEntity(signed);
  const message = inner === undefined ? signed : parseEntity(inner);
  const read = readMdnOrDsn(message);
  if (read === undefined) throw new RangeError('not an MDN');
  if (!read.originalMessageIds.includes(document.wireMessageId))
    throw new RangeError(`not about ${document.wireMessageId}`);
  const recipients = read.kind === 'mdn' ? [read] : read.recipients;
  const named = recipients
    .flatMap(({ finalRecipient, originalRecipient }) => [finalRecipient, finalRecipient && originalRecipient])
    .flatMap((one) => findDirectAddress(one ?? '') ?? []);
  const asked = new Set(document.result.map(({ toDirectAddress }) => toDirectAddress.toLowerCase()));
  const isAlias = read.kind === 'mdn' && !named.some((one) => asked.has(addressKey(one)));
  const speaksOf = isAlias
    ? [...named, ...[findDirectAddress(findSender(message) ?? '') ?? []].flat()]
    : named;
  // If neither Final-Recipient nor a signed header names one, the signer stands in for it.
  if (speaksOf.length > 0 && !speaksOf.some((one) => addressKey(one) === address.toLowerCase()))
    throw new RangeError(`not about ${address}`);
  if (!maySpeakFor(signer.certificate, address as DirectAddress))
    throw new RangeError(`its signer is not bound to ${address}`);
  return {
    receivedTime: mdn.receivedTime,
    disposition: read.kind === 'dsn' || read.isFailure ? 'failed' : (read.disposition ?? 'unknown'),
    signer: describe(signer.certificate).subject,
    signerPath: mdn.signerPath,
    isPathValidated: await checkPath(mdn),
  };
}

/**
 * The address that an MDN speaks for if its Final-Recipient is missing or an alias: Sender if there is one,
 * else From, as where it was received.
 */
function findSender(message: MimeEntity): string | undefined {
  return readMailboxes(message.header('sender') ?? message.header('from') ?? '').at(0)?.address;
}

/** Validates the signer's path as it is in the document; false if certificates of it are missing. */
async function checkPath({ signerPath, signerCertificates, receivedTime }: Mdn): Promise<boolean> {
  if (signerCertificates.length !== signerPath.length || signerCertificates.includes('')) return false;
  const path = signerCertificates.map((der) => readCertificate(Buffer.from(der, 'base64')));
  if (path.some(({ fingerprint }, index) => fingerprint !== signerPath[index]))
    throw new RangeError("the certificates are not those of its signer's path");
  const [signer, anchor] = [path[0], path.at(-1)];
  if (signer === undefined || anchor === undefined) return false;
  await validatePath(signer, 'signing', {
    at: new Date(receivedTime),
    anchors: [anchor],
    candidates: path,
    policy: { revocation: 'off', allowSha1Certificates: true, allowCaAsEndEntity: true, minRsaBits: 1024 },
  });
  return true;
}

// A delivery status may also come from the domain's own mail system, which has an address there.
function maySpeakFor(certificate: Certificate, address: DirectAddress): boolean {
  if (isBoundTo(certificate, address) !== undefined) return true;
  return certificate.rfc822Names.some((name) => name.toLowerCase().endsWith(`@${domainOf(address)}`));
}

function describe({ der, fingerprint }: Certificate): VerifiedEvidence['signer'] {
  return { subject: new X509Certificate(der).subject.replaceAll('\n', ', '), fingerprint };
}
