import type { Kysely } from 'kysely';
import { formatPem, readCertificate, type Certificate } from '../../../lib/pki/index.ts';
import type { MessagingTables } from '../tables.ts';
import type { Attempt } from '../evidence/attempts.ts';
import { concerns } from './stations.ts';

/** One certificate of a path; fields that are no longer known are empty. */
export interface PathNode {
  readonly role: 'recipient' | 'signer' | 'issuer' | 'anchor' | 'missing';
  readonly state: 'ok' | 'failed' | 'not-reached';
  readonly fingerprint: string;
  readonly subject: string;
  readonly issuer: string;
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly code: string;
  readonly text: string;
}

/** A candidate certificate of a recipient, with its path to an anchor. */
export interface CertificatePath {
  readonly state: 'trusted' | 'refused';
  readonly code: string;
  readonly text: string;
  /** The recipient's first. */
  readonly nodes: readonly PathNode[];
}

/** As recorded by `service/agent` with an attempt. */
interface Finding {
  readonly fingerprint: string;
  readonly anchor?: string;
  readonly via?: readonly string[];
  readonly code?: string;
  readonly refused?: {
    readonly subject: string;
    readonly issuer: string;
    readonly notBefore: string;
    readonly notAfter: string;
    readonly text: string;
    readonly failedAt?: string;
  };
}

/** Sources of certificate names by fingerprint. */
export interface CertificateNames {
  readonly db: Kysely<MessagingTables>;
  /** Anchors of the sender's domain. */
  readonly anchors: readonly Certificate[];
}

/** The paths of the last attempt that checked certificates of the recipient; empty before the first one. */
export async function describePaths(
  { db, anchors }: CertificateNames,
  attempts: readonly Attempt[],
  address: string,
): Promise<readonly CertificatePath[]> {
  const findings = attempts
    .findLast(({ certificates }) => certificates.some((one) => concerns(one, address)))
    ?.certificates.filter((one) => concerns(one, address)) as readonly Finding[] | undefined;
  if (findings === undefined) return [];
  const known = new Map(anchors.map((one) => [one.fingerprint, one]));
  const wanted = findings.flatMap((one) => [
    one.fingerprint,
    ...(one.via ?? []),
    one.anchor ?? '',
    one.refused?.failedAt ?? '',
  ]);
  const rows = await db
    .selectFrom('path_certificate')
    .select(['fingerprint', 'der'])
    .where('fingerprint', 'in', [...new Set(wanted)])
    .execute();
  for (const row of rows) known.set(row.fingerprint, readCertificate(new Uint8Array(row.der)));
  return findings.map((finding) =>
    finding.code === undefined ? describeTrusted(finding, known) : describeRefused(finding, known),
  );
}

type Known = ReadonlyMap<string, Certificate>;

function nodeOf(
  role: PathNode['role'],
  fingerprint: string,
  known: Known,
  more: Partial<PathNode> = {},
): PathNode {
  const certificate = known.get(fingerprint);
  return {
    role,
    state: 'ok',
    fingerprint,
    subject: certificate?.subject ?? '',
    issuer: certificate?.issuer ?? '',
    notBefore: certificate?.notBefore,
    notAfter: certificate?.notAfter,
    code: '',
    text: '',
    ...more,
  };
}

function describeTrusted({ fingerprint, anchor = '', via = [] }: Finding, known: Known): CertificatePath {
  return buildTrustedPath([...new Set([fingerprint, ...via, anchor])], known);
}

function describeRefused({ fingerprint, code = '', refused }: Finding, known: Known): CertificatePath {
  return buildRefusedPath(
    {
      fingerprint,
      code,
      text: refused?.text ?? '',
      failedAt: refused?.failedAt,
      ...(refused && {
        names: {
          subject: refused.subject,
          issuer: refused.issuer,
          notBefore: new Date(refused.notBefore),
          notAfter: new Date(refused.notAfter),
        },
      }),
    },
    known,
  );
}

/**
 * A validated path by its fingerprints, the recipient's first; a certificate that is itself an anchor is its
 * whole path.
 */
export function buildTrustedPath(fingerprints: readonly string[], known: Known): CertificatePath {
  const last = fingerprints.length - 1;
  return {
    state: 'trusted',
    code: '',
    text: "It is valid and chains to an anchor of the sender's domain.",
    nodes: fingerprints.map((one, at) =>
      nodeOf(at === last ? 'anchor' : at === 0 ? 'recipient' : 'issuer', one, known),
    ),
  };
}

/** A certificate that was refused, and the one above it that it was refused for, if it was not itself. */
export interface RefusedCertificate {
  readonly fingerprint: string;
  readonly code: string;
  readonly text: string;
  readonly failedAt: string | undefined;
  /** If it is not among the known ones. */
  readonly names?: Pick<PathNode, 'subject' | 'issuer' | 'notBefore' | 'notAfter'>;
}

/** The path ended: no trusted issuer was found for the certificate below. */
const isWayLost = (code: string): boolean => code === 'PKI_ISSUER_NOT_FOUND' || code === 'PKI_NO_ANCHORS';

/** The reason is at the node that failed; the nodes above it were not reached. */
export function buildRefusedPath(refused: RefusedCertificate, known: Known): CertificatePath {
  const { fingerprint, code, text, failedAt, names } = refused;
  const isLost = isWayLost(code);
  const failure = { state: 'failed', code, text } as const;
  const own = nodeOf('recipient', fingerprint, known, {
    ...names,
    ...(failedAt === undefined && !isLost && failure),
  });
  const upper = failedAt === undefined ? [] : [nodeOf('issuer', failedAt, known, isLost ? {} : failure)];
  const top: PathNode = {
    ...nodeOf(isLost ? 'missing' : 'anchor', '', known, { state: 'not-reached' }),
    subject: (upper.at(-1) ?? own).issuer,
    ...(isLost && failure),
  };
  return { state: 'refused', code, text, nodes: [own, ...upper, top] };
}

/** Fingerprints of the certificates that received mail was refused for, as its audit row names them. */
export interface SignerNames {
  readonly fingerprint: string;
  readonly issuers: readonly string[];
  /** Of the last issuer, or of the certificate itself; empty if none is an anchor. */
  readonly anchor: string;
  readonly failedAt: string;
  /** Of the signer, if its certificate is not kept. */
  readonly names?: Pick<PathNode, 'subject' | 'issuer' | 'notBefore' | 'notAfter'>;
}

/** A CA above the signer of refused mail, to be trusted or not. */
export interface OfferedAuthority {
  readonly fingerprint: string;
  readonly subject: string;
  readonly pem: string;
}

/** How far the path of a refused signer went. */
export interface SignerPath {
  readonly path: CertificatePath;
  /** CAs whose trust would help, lowest first; empty if an anchor would not help. */
  readonly authorities: readonly OfferedAuthority[];
}

/** The signer of refused mail with the certificates above it that were at hand. */
export async function describeSigner(
  db: Kysely<MessagingTables>,
  { fingerprint, issuers, anchor, failedAt, names }: SignerNames,
  { code, text }: { readonly code: string; readonly text: string },
): Promise<SignerPath> {
  const fingerprints = [fingerprint, ...issuers];
  const rows = await db
    .selectFrom('path_certificate')
    .select(['fingerprint', 'der'])
    .where('fingerprint', 'in', fingerprints)
    .execute();
  const known = new Map(rows.map((row) => [row.fingerprint, readCertificate(new Uint8Array(row.der))]));
  const failure = { state: 'failed', code, text } as const;
  const isLost = isWayLost(code);
  const failedIndex = isLost ? fingerprints.length : fingerprints.indexOf(failedAt);
  const nodes = fingerprints.map((one, at) => {
    const role = one === anchor ? 'anchor' : at === 0 ? 'signer' : 'issuer';
    const own = at === 0 ? names : undefined;
    if (at === failedIndex) return nodeOf(role, one, known, { ...own, ...failure });
    const state = failedIndex >= 0 && at > failedIndex ? 'not-reached' : 'ok';
    return nodeOf(role, one, known, { ...own, state });
  });
  const top = known.get(fingerprints.at(-1) ?? '') ?? names;
  const isAtTop = anchor !== '' || (top !== undefined && top.subject === top.issuer);
  if (isLost && isAtTop && nodes.length > 0) nodes.push({ ...required(nodes.pop()), ...failure });
  else if (!isAtTop)
    nodes.push({
      // What was refused may be above what is kept.
      ...nodeOf(
        isLost ? 'missing' : 'anchor',
        '',
        known,
        isLost || failedIndex < 0 ? failure : { state: 'not-reached' },
      ),
      subject: top?.issuer ?? '',
    });
  return {
    path: { state: 'refused', code, text, nodes },
    authorities: isLost
      ? issuers.flatMap((one) => {
          const found = known.get(one);
          return found?.isCa === true && one !== anchor ? [toOffered(found)] : [];
        })
      : [],
  };
}

function required(node: PathNode | undefined): PathNode {
  if (node === undefined) throw new TypeError('a path without a certificate');
  return node;
}

function toOffered({ fingerprint, subject, der }: Certificate): OfferedAuthority {
  return { fingerprint, subject, pem: formatPem('CERTIFICATE', der) };
}
