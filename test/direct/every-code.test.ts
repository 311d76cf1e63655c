/**
 * Provokes every refusal code of lib/pki and lib/direct. The tables are complete by type: a code without an entry does not compile,
 * and an entry that ends in anything but its own code fails.
 */
import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { CodedError, createManualClock } from '../../src/core/index.ts';
import { childAt, der, encodedBytes, isContext, readAsn1 } from '../../src/lib/asn1/index.ts';
import {
  createDiscovery,
  openMessage,
  resolveRecipient,
  sealMessage,
  type DirectErrorCode,
  type SealRequest,
} from '../../src/lib/direct/index.ts';
import { DnsError } from '../../src/lib/dns/index.ts';
import {
  createIssuerFetcher,
  createValidationBudget,
  createRevocationChecker,
  directTrustPolicy,
  formatPem,
  validatePath,
  readCertificate,
  readCertificates,
  readPrivateKey,
  readTrustBundle,
  writeTrustBundle,
  type Certificate,
  type CrlRequest,
  type PkiErrorCode,
  type TrustContext,
} from '../../src/lib/pki/index.ts';
import { encryptEntity, signEntity, verifyCms } from '../../src/lib/smime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { readPeerFile, readPeerKey } from '../peer-messages/peer-files.ts';
import { createFilesFetch, type ServedFile } from './support/files-fetch.ts';
import {
  createMessageWorld,
  inner,
  makeMessage,
  plainHeader,
  plainMessage,
  receive,
  signerOf,
  signWith,
  without,
  type MessageWorld,
  type Steps,
} from './support/test-messages.ts';
import {
  alice,
  at,
  bob,
  createTestPki,
  future,
  past,
  spareAuthority,
  type TestPki,
} from './support/test-pki.ts';

/** Throws the coded error, or returns the verdict or warning that has the code. */
type Provoke = (world: MessageWorld) => unknown;

const carol = parseDirectAddress('carol@direct.beta.example');
const crlUrl = 'http://crl.alpha.example/alpha.crl';
const pkcs7Data = '1.2.840.113549.1.7.1';

// --- Paths

const validate =
  (make: (pki: TestPki) => Certificate, context: Partial<TrustContext> = {}): Provoke =>
  ({ pki }) =>
    validatePath(make(pki), 'signing', { at, anchors: [pki.root.certificate], address: alice, ...context });

/** A path over an intermediate CA with the given faults. */
const validateBelow =
  (changes: Parameters<TestPki['issueAuthority']>[0]): Provoke =>
  (world) => {
    const issuer = world.pki.issueAuthority(changes);
    return validate((pki) => pki.issue({ issuer }), { candidates: [issuer.certificate] })(world);
  };

/** A path over CAs that each stand below the one before. */
const validateChain =
  (length: number, changes: Parameters<TestPki['issueAuthority']>[0] = {}): Provoke =>
  (world) => {
    const chain = [world.pki.root];
    for (let index = 0; index < length; index++)
      chain.push(spareAuthority(world.pki, index, { issuer: chain.at(-1) ?? world.pki.root, ...changes }));
    const candidates = chain.slice(1).map(({ certificate }) => certificate);
    return validate((pki) => pki.issue({ issuer: chain.at(-1) ?? pki.root }), { candidates })(world);
  };

/** A path whose issuer would have to be fetched, with a budget that does not allow it. */
const validateWithBudget =
  ({ isForKnownIssuers = false }): Provoke =>
  (world) => {
    const { fetch } = createFilesFetch(new Map<string, ServedFile>());
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const caIssuerUrls = ['http://aia.alpha.example/ca.cer'];
    const empty = createValidationBudget({ maxFetches: 0 });
    const budget = isForKnownIssuers ? empty.withoutIssuerFetches() : empty;
    const make = (pki: TestPki) => pki.issue({ issuer: pki.intermediate, caIssuerUrls });
    return validate(make, { fetchIssuers, budget })(world);
  };

/** An RSA key under which a signature proves nothing; OpenSSL makes no key object of it, but a certificate can hold it. */
function keyOfExponentOne({ rsaKeys }: TestPki): KeyObject {
  const modulus = Buffer.from(rsaKeys.publicKey.export({ format: 'jwk' }).n ?? '', 'base64url');
  const key = der.sequence(der.unsignedInteger(modulus), der.integer(1));
  const algorithm = der.sequence(der.oid('1.2.840.113549.1.1.1'), der.null());
  const spki = der.sequence(algorithm, der.tlv(0x03, Buffer.concat([Buffer.of(0), key])));
  return { export: () => spki } as unknown as KeyObject;
}

// --- CRLs

const validateWithCrl =
  (serve: (pki: TestPki, leaf: Certificate) => ServedFile, revocation: 'hard-fail' | 'soft-fail'): Provoke =>
  async (world) => {
    const leaf = world.pki.issue({ crlUrls: [crlUrl] });
    const { fetch } = createFilesFetch(new Map([[crlUrl, serve(world.pki, leaf)]]));
    const checkRevocation = createRevocationChecker({ fetch });
    return validate(() => leaf, { checkRevocation, policy: { revocation } })(world);
  };

/** The warning with which a CRL that is not valid is skipped. */
const crlWarning =
  (changes: (pki: TestPki) => Partial<CrlRequest>): Provoke =>
  async (world) => {
    const path = await validateWithCrl((pki) => pki.crl(changes(pki)), 'soft-fail')(world);
    return warningOf(path);
  };

function warningOf(path: unknown): unknown {
  const { warnings } = path as Awaited<ReturnType<typeof validatePath>>;
  assert.equal(warnings.length, 1);
  return warnings[0];
}

const extension = (oid: string, value: Buffer) => ({ oid, isCritical: true, value });
const fullPoint = (...parts: Buffer[]) => extension('2.5.29.28', der.sequence(...parts));

// --- Files

/** SignedData around the content; the signer information is a stand-in that no signature check accepts. */
function signedData(content: Uint8Array, signers: readonly Buffer[]): Buffer {
  const body = der.sequence(
    der.integer(1),
    der.set(),
    der.sequence(der.oid(pkcs7Data), der.explicit(0, der.octetString(content))),
    der.set(...signers),
  );
  return der.sequence(der.oid('1.2.840.113549.1.7.2'), der.explicit(0, body));
}

const pkiCodes: Readonly<Record<PkiErrorCode, Provoke>> = {
  PKI_CERTIFICATE_MALFORMED: () => readCertificate(Buffer.of(0x30, 0)),
  PKI_KEY_MALFORMED: () => readPrivateKey('no key'),
  PKI_CERTIFICATE_SET_MALFORMED: () => readCertificates(Buffer.from('no set')),
  PKI_TOO_MANY_CERTIFICATES: () =>
    readCertificates(formatPem('CERTIFICATE', Buffer.of(0x30, 0)).repeat(2_001)),
  PKI_TOO_LARGE: () => readCertificate(Buffer.alloc(300_000, 0x30)),

  PKI_NOT_BOUND: validate((pki) => pki.issue({ rfc822Names: [bob] })),
  PKI_NAME_MALFORMED: validate((pki) => pki.issue({ rfc822Names: [`${alice}\0.evil.example`] })),
  PKI_NOT_YET_VALID: validate((pki) => pki.issue({ notBefore: future(1) })),
  PKI_EXPIRED: validate((pki) => pki.issue({ notAfter: past(1) })),
  PKI_KEY_ALGORITHM: ({ pki }) =>
    validatePath(pki.issue({ publicKey: pki.ecKeys.publicKey }), 'encryption', {
      at,
      anchors: [pki.root.certificate],
      address: alice,
    }),
  PKI_KEY_TOO_WEAK: validate((pki) => pki.issue({ publicKey: pki.weakKeys.publicKey })),
  PKI_KEY_INVALID: validate((pki) => pki.issue({ publicKey: keyOfExponentOne(pki) })),
  PKI_KEY_USAGE: validate((pki) => pki.issue({ keyUsage: ['keyEncipherment'] })),
  PKI_EXTENDED_KEY_USAGE: validate((pki) => pki.issue({ extendedKeyUsage: ['1.3.6.1.5.5.7.3.1'] })),
  PKI_END_ENTITY_IS_CA: validate((pki) =>
    pki.issue({ isCa: true, keyUsage: ['digitalSignature', 'keyCertSign'] }),
  ),
  PKI_CRITICAL_EXTENSION: validate((pki) =>
    pki.issue({ extensions: [extension('1.3.6.1.4.1.55555.1', der.null())] }),
  ),
  PKI_POLICY_MISSING: validate((pki) => pki.issue(), { policy: directTrustPolicy }),

  PKI_NO_ANCHORS: validate((pki) => pki.issue(), { anchors: [] }),
  PKI_ISSUER_NOT_FOUND: validate((pki) => pki.issue({ issuer: pki.untrustedCa })),
  PKI_ISSUER_UNAVAILABLE: (world) => {
    const url = 'http://aia.alpha.example/ca.cer';
    const { fetch } = createFilesFetch(new Map<string, ServedFile>([[url, 'timeout']]));
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const make = (pki: TestPki) => pki.issue({ issuer: pki.intermediate, caIssuerUrls: [url] });
    return validate(make, { fetchIssuers })(world);
  },
  PKI_FETCH_NEEDED: validateWithBudget({ isForKnownIssuers: true }),
  PKI_FETCH_LIMIT: validateWithBudget({}),
  PKI_SIGNATURE_ALGORITHM: validate((pki) => pki.issue({ digest: 'sha1' })),
  PKI_SIGNATURE_INVALID: validate((pki) =>
    pki.issue({ issuer: { certificate: pki.root.certificate, privateKey: pki.untrustedCa.privateKey } }),
  ),
  PKI_ISSUER_NOT_CA: validateBelow({ isCa: false, keyUsage: ['keyCertSign'] }),
  PKI_ISSUER_KEY_USAGE: validateBelow({ keyUsage: ['cRLSign'] }),
  PKI_PATH_LENGTH: validateChain(2, { pathLength: 0 }),
  PKI_PATH_TOO_LONG: validateChain(9),
  PKI_PATH_TOO_BROAD: (world) => {
    const { pki } = world;
    const crowd = Array.from(
      { length: 60 },
      () => pki.issueAuthority({ issuer: pki.untrustedCa, publicKey: pki.ecKeys.publicKey }).certificate,
    );
    return validate(() => pki.issue({ issuer: pki.intermediate }), { candidates: crowd })(world);
  },
  PKI_NAME_CONSTRAINT: validateBelow({
    nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } },
  }),

  PKI_REVOKED: validateWithCrl(
    (pki, leaf) => pki.crl({ revoked: [{ serialNumber: leaf.serialNumberDer, revokedAt: past(2) }] }),
    'hard-fail',
  ),
  PKI_REVOCATION_UNKNOWN: validateWithCrl(() => 'timeout', 'hard-fail'),
  PKI_REVOCATION_UNCHECKABLE: (world) => {
    const { fetch } = createFilesFetch(new Map());
    const checkRevocation = createRevocationChecker({ fetch });
    return validate((pki) => pki.issue(), { checkRevocation, policy: { revocation: 'hard-fail' } })(world);
  },
  PKI_CRL_MALFORMED: async (world) =>
    warningOf(await validateWithCrl(() => Buffer.from('<html>not found</html>'), 'soft-fail')(world)),
  PKI_CRL_ISSUER: crlWarning((pki) => ({ issuer: pki.untrustedCa })),
  PKI_CRL_SIGNATURE: crlWarning((pki) => ({
    issuer: { certificate: pki.root.certificate, privateKey: pki.untrustedCa.privateKey },
  })),
  PKI_CRL_NOT_YET_VALID: crlWarning(() => ({ thisUpdate: future(1), nextUpdate: future(2) })),
  PKI_CRL_STALE: crlWarning(() => ({ thisUpdate: past(20), nextUpdate: past(10) })),
  PKI_CRL_SCOPE: crlWarning(() => ({ extensions: [fullPoint(der.implicit(2, false, Buffer.of(0xff)))] })),
  PKI_CRL_DELTA: crlWarning(() => ({ extensions: [extension('2.5.29.27', der.integer(1))] })),
  PKI_CRL_CRITICAL_EXTENSION: crlWarning(() => ({
    extensions: [extension('1.3.6.1.4.1.55555.2', der.null())],
  })),
  PKI_CRL_UNAVAILABLE: async (world) =>
    warningOf(await validateWithCrl(() => ({ status: 404 }), 'soft-fail')(world)),

  PKI_BUNDLE_MALFORMED: () => readTrustBundle(Buffer.from('no bundle')),
  PKI_BUNDLE_UNSIGNED: ({ pki }) =>
    readTrustBundle(writeTrustBundle([pki.root.certificate]), {
      signer: pki.root.certificate,
      verifySignature: verifyBundle,
    }),
  PKI_BUNDLE_SIGNATURE: ({ pki }) =>
    readTrustBundle(signedData(writeTrustBundle([pki.root.certificate]), [der.sequence(der.integer(1))]), {
      signer: pki.root.certificate,
      verifySignature: verifyBundle,
    }),
};

function verifyBundle(bytes: Uint8Array): Uint8Array {
  verifyCms(bytes);
  return bytes;
}

// --- Messages

const seal =
  (change: (world: MessageWorld) => Partial<SealRequest>): Provoke =>
  (world) =>
    sealMessage({
      message: plainMessage(),
      signers: [world.signer],
      recipients: [{ address: bob, certificates: [world.recipient.certificate] }],
      at,
      ...change(world),
    });
const sealHeader = (header: readonly string[]): Provoke => seal(() => ({ message: plainMessage(header) }));

const open =
  (steps: (world: MessageWorld) => Steps, options: Parameters<typeof receive>[2] = {}): Provoke =>
  (world) =>
    receive(world, makeMessage(world, steps(world)), options);
const openPeer =
  (file: string): Provoke =>
  () =>
    openMessage({ message: readPeerFile(file), keys: [readPeerKey('bob')] });

/** The verdict by which a recipient is refused whose address publishes the given certificates, or whose DNS is out of order. */
const resolve =
  (publish: (pki: TestPki) => readonly Certificate[] | Error): Provoke =>
  async ({ pki }) => {
    const published = publish(pki);
    const answer = <T>(records: readonly T[]) => ({
      status: records.length > 0 ? ('found' as const) : ('nxdomain' as const),
      records,
      ttlSeconds: 600,
      transport: 'udp' as const,
    });
    const discovery = createDiscovery({
      clock: createManualClock(at),
      fetch: createFilesFetch(new Map()).fetch,
      ldap: { findCertificates: async () => ({ status: 'absent', certificates: [], attempts: [] }) },
      dns: {
        async resolveCert(name) {
          if (published instanceof Error) throw published;
          const certificates = name === 'bob.direct.beta.example' ? published : [];
          return answer(
            certificates.map(({ der: data }) => ({ certificateType: 1, keyTag: 0, algorithm: 0, data })),
          );
        },
        resolveSrv: async () => answer([]),
      },
    });
    const resolved = await resolveRecipient(bob, { discovery, at, anchors: [pki.root.certificate] });
    assert.ok(resolved.outcome === 'refused');
    return resolved;
  };

const withSignature = (change: (signed: string) => string) => (world: MessageWorld) => ({
  sign: (entity: Uint8Array) =>
    Buffer.from(change(Buffer.from(signEntity(entity, [world.signer], { at })).toString('latin1')), 'latin1'),
});

/** Cuts the certificates out of the signature of a multipart/signed entity, or puts something else in their place. */
function withoutCertificates(signed: string, replacement?: Buffer): string {
  const [, head = '', base64 = '', tail = ''] = /^([^]*\.p7s\r\n\r\n)([^-]*)(--[^]*)$/.exec(signed) ?? [];
  const content = childAt(childAt(readAsn1(Buffer.from(base64, 'base64')), 1), 0);
  const rest = content.children
    .filter((part) => !isContext(part, 0) || replacement !== undefined)
    .map((part) =>
      isContext(part, 0) && replacement !== undefined
        ? der.implicit(0, true, replacement)
        : encodedBytes(part),
    );
  const cms = der.sequence(der.oid('1.2.840.113549.1.7.2'), der.explicit(0, der.sequence(...rest)));
  return `${head}${cms.toString('base64')}\r\n${tail}`;
}

const directCodes: Readonly<Record<DirectErrorCode, Provoke>> = {
  DIRECT_NO_SENDER: sealHeader(without('From')),
  DIRECT_SENDER_AMBIGUOUS: open(() => inner([...plainHeader, 'From: carol@direct.alpha.example'])),
  DIRECT_NO_RECIPIENTS: sealHeader(without('To')),
  DIRECT_HEADER_MISSING: sealHeader(without('Date')),
  DIRECT_BLIND_COPY: sealHeader([...plainHeader, `Bcc: ${carol}`]),
  DIRECT_BINARY_PART: seal(() => ({
    message: plainMessage(
      [...without('Content-Type'), 'Content-Type: image/png', 'Content-Transfer-Encoding: binary'],
      'a\nb\0',
    ),
  })),
  DIRECT_MESSAGE_MALFORMED: sealHeader([...plainHeader, `X-Long: ${'x'.repeat(70_000)}`]),

  DIRECT_SENDER_CERTIFICATE_UNUSABLE: seal(() => ({ signers: [] })),
  DIRECT_RECIPIENT_NOT_VISIBLE: seal(({ pki }) => ({
    recipients: [{ address: carol, certificates: [pki.issue({ rfc822Names: [carol] })] }],
  })),
  DIRECT_NO_TRUSTED_RECIPIENTS: seal(() => ({ recipients: [] })),
  DIRECT_RECIPIENT_CERTIFICATE_MISSING: resolve(() => []),
  DIRECT_RECIPIENT_CERTIFICATES_INVALID: resolve((pki) => [
    pki.issue({ rfc822Names: [bob], notAfter: past(1) }),
  ]),
  DIRECT_RECIPIENT_UNTRUSTED: resolve((pki) => [pki.issue({ rfc822Names: [bob], issuer: pki.untrustedCa })]),
  DIRECT_RECIPIENT_UNDECIDED: resolve(() => new DnsError('DNS_TIMEOUT', 'no answer')),
  DIRECT_SEAL_FAILED: seal(({ pki, signer }) => ({
    signers: [{ ...signer, privateKey: pki.ecKeys.privateKey }],
  })),

  DIRECT_SENDER_NEEDS_FETCH: (world) => {
    const { fetch } = createFilesFetch(new Map<string, ServedFile>());
    const caIssuerUrls = ['http://aia.alpha.example/ca.cer'];
    const signer = signerOf(world.pki, { issuer: world.pki.intermediate, caIssuerUrls });
    return receive(world, makeMessage(world, { sign: signWith([signer]) }), {
      fetchIssuers: createIssuerFetcher({ fetch, now: () => at }),
      allowFetch: false,
    });
  },
  DIRECT_NOT_ENCRYPTED: open(() => ({ encrypt: (content) => content })),
  DIRECT_UNKNOWN_RECIPIENT: open(({ signer }) => ({
    encrypt: (content) => encryptEntity(content, [{ certificate: signer.certificate }]),
  })),
  DIRECT_ENCRYPTION_INVALID: (world) => {
    const text = makeMessage(world, {
      encrypt: (content) =>
        encryptEntity(content, [{ certificate: world.recipient.certificate }], {
          contentCipher: 'aes-256-gcm',
        }),
    }).toString('latin1');
    const bodyAt = text.indexOf('\r\n\r\n') + 4;
    const cms = Buffer.from(text.slice(bodyAt), 'base64');
    cms[cms.length - 1] = (cms.at(-1) ?? 0) ^ 1;
    return receive(world, Buffer.from(text.slice(0, bodyAt) + cms.toString('base64'), 'latin1'));
  },
  DIRECT_ENCRYPTION_NOT_ALLOWED: openPeer('inbound/05-content-des3-with-allow-weak.eml'),
  DIRECT_NOT_SIGNED: open(() => ({ sign: (entity) => entity })),
  DIRECT_SENDER_CERTIFICATE_MISSING: open(withSignature((signed) => withoutCertificates(signed))),
  DIRECT_SENDER_CERTIFICATE_UNREADABLE: open(
    withSignature((signed) => withoutCertificates(signed, der.sequence(der.null()))),
  ),
  DIRECT_SIGNATURE_INVALID: open(withSignature((signed) => signed.replace('Hello', 'Jello'))),
  DIRECT_SIGNATURE_NOT_ALLOWED: openPeer('inbound/17-digest-sha1.eml'),
  DIRECT_UNSIGNED_NOT_TEXT: open(({ signer }) => ({
    sign: (entity: Uint8Array) =>
      Buffer.concat([signEntity(entity, [signer], { at }), Buffer.alloc(16, 0xe1)]),
  })),
  DIRECT_NOT_WRAPPED: open(
    () => ({ wrap: () => Buffer.from('Content-Type: text/plain\r\n\r\nHello.\r\n') }),
    { messagePolicy: { acceptUnwrapped: false } },
  ),
  DIRECT_SENDER_SIGNATURE_MISSING: open(({ pki }) => ({
    sign: signWith([signerOf(pki, { rfc822Names: ['carol@direct.alpha.example'] })]),
  })),
  DIRECT_SENDER_UNTRUSTED: open(({ pki }) => ({
    sign: signWith([signerOf(pki, { issuer: pki.untrustedCa })], [pki.untrustedCa.certificate]),
  })),
  DIRECT_SENDER_UNDECIDED: (world) => {
    const url = 'http://aia.alpha.example/ca.cer';
    const { fetch } = createFilesFetch(new Map<string, ServedFile>([[url, 'timeout']]));
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const { intermediate } = world.pki;
    const signers = [signerOf(world.pki, { issuer: intermediate, caIssuerUrls: [url] })];
    return open(() => ({ sign: signWith(signers) }), { fetchIssuers })(world);
  },
  DIRECT_ENVELOPE_SENDER_MISMATCH: open(() => ({}), { envelope: { mailFrom: carol, recipients: [bob] } }),
  DIRECT_ENVELOPE_RECIPIENT_MISMATCH: open(() => ({}), {
    envelope: { mailFrom: alice, recipients: [carol] },
  }),

  DIRECT_POLICY_INVALID: open(() => ({}), { messagePolicy: { requireEnvelopeMatch: undefined as never } }),
};

/** What the attempt ends in. */
async function refusalOf(provoke: Provoke, world: MessageWorld): Promise<{ code: string; text: string }> {
  try {
    const result = await provoke(world);
    return result as Awaited<ReturnType<typeof refusalOf>>;
  } catch (error) {
    if (error instanceof CodedError) return { code: error.code, text: error.message };
    throw error;
  }
}

const leaf = String.raw`^CN=alice \(serial [0-9a-f]+\): `;
const authority = String.raw`^CN=[a-z ]+( \d)? \(serial [0-9a-f]+\): `;
const list = `${leaf}CRL ${crlUrl}: `;

/** What the words name, beyond the code: the certificate, the value, the limit, the list. */
const pkiWords: Readonly<Record<PkiErrorCode, string>> = {
  PKI_CERTIFICATE_MALFORMED: '.',
  PKI_KEY_MALFORMED: '.',
  PKI_CERTIFICATE_SET_MALFORMED: '.',
  PKI_TOO_MANY_CERTIFICATES: 'more than 2000',
  PKI_TOO_LARGE: '300000 bytes, more than 262144',
  PKI_NOT_BOUND: `${leaf}bound to ${bob}`,
  PKI_NAME_MALFORMED: leaf,
  PKI_NOT_YET_VALID: `${leaf}valid from 20`,
  PKI_EXPIRED: `${leaf}valid until 20`,
  PKI_KEY_ALGORITHM: `${leaf}a key of algorithm 1`,
  PKI_KEY_TOO_WEAK: `${leaf}an RSA key of 1024 bits, fewer than 2048`,
  PKI_KEY_INVALID: `${leaf}an RSA key with `,
  PKI_KEY_USAGE: `${leaf}.*signing`,
  PKI_EXTENDED_KEY_USAGE: leaf,
  PKI_END_ENTITY_IS_CA: leaf,
  PKI_CRITICAL_EXTENSION: `${leaf}.* 1.3.6.1.4.1.55555.1`,
  PKI_POLICY_MISSING: `${leaf}no certificate policy 1.3.6`,
  PKI_NO_ANCHORS: leaf,
  PKI_ISSUER_NOT_FOUND: `${leaf}no trusted issuer CN=`,
  PKI_ISSUER_UNAVAILABLE: `${leaf}http://aia.alpha.example/ca.cer: `,
  PKI_FETCH_NEEDED: `${leaf}.*http://aia.alpha.example/ca.cer`,
  PKI_FETCH_LIMIT: `${leaf}more than 0 fetches`,
  PKI_SIGNATURE_ALGORITHM: String.raw`${leaf}signed with ec and sha1.*issuer CN=`,
  PKI_SIGNATURE_INVALID: `${leaf}.*issuer CN=`,
  PKI_ISSUER_NOT_CA: authority,
  PKI_ISSUER_KEY_USAGE: authority,
  PKI_PATH_LENGTH: `${authority}a path length over 0`,
  PKI_PATH_TOO_LONG: `${leaf}more than 8`,
  PKI_PATH_TOO_BROAD: String.raw`${leaf}more than \d+`,
  PKI_NAME_CONSTRAINT: `${authority}may not vouch for .*alice`,
  PKI_REVOKED: `${leaf}revoked: `,
  PKI_REVOCATION_UNKNOWN: list,
  PKI_REVOCATION_UNCHECKABLE: `${leaf}no CRL distribution point`,
  PKI_CRL_MALFORMED: list,
  PKI_CRL_ISSUER: `${list}.* CN=`,
  PKI_CRL_SIGNATURE: String.raw`${list}.* CN=.*serial`,
  PKI_CRL_NOT_YET_VALID: `${list}.* 20..-`,
  PKI_CRL_STALE: `${list}.* 20..-`,
  PKI_CRL_SCOPE: `${list}.* 20..-`,
  PKI_CRL_DELTA: `${list}.* 20..-`,
  PKI_CRL_CRITICAL_EXTENSION: `${list}.*1.3.6.1.4.1.55555.2`,
  PKI_CRL_UNAVAILABLE: `${list}.*404`,
  PKI_BUNDLE_MALFORMED: '.',
  PKI_BUNDLE_UNSIGNED: '.',
  PKI_BUNDLE_SIGNATURE: '.',
};

describe('every refusal code of lib/pki and lib/direct can be provoked', () => {
  let world: MessageWorld;
  before(async () => {
    world = createMessageWorld(await createTestPki());
  });

  test('accepts the unchanged originals of the attempts', async () => {
    await receive(world, makeMessage(world));
    const { warnings } = (await validateWithCrl((pki) => pki.crl(), 'hard-fail')(world)) as Awaited<
      ReturnType<typeof validatePath>
    >;
    assert.deepEqual(warnings, []);
  });

  const words: Readonly<Record<string, string>> = pkiWords;
  for (const [code, provoke] of Object.entries({ ...pkiCodes, ...directCodes })) {
    test(code, async () => {
      const refusal = await refusalOf(provoke, world);
      assert.equal(refusal.code, code);
      assert.match(refusal.text, new RegExp(words[code] ?? '.'));
      // What of it the audit trail, the log and the console keep.
      assert.ok(refusal.text.length <= 200, refusal.text);
    });
  }
});
