import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { noteProvoked, refusedAtOnce } from '../../../test/direct/support/refusals.ts';
import { fc } from '../../../test/support/fast-check.ts';
import { CodedError } from '../../core/index.ts';
import { der, encodedBytes, readAsn1 } from '../asn1/index.ts';
import {
  readCertificate,
  readCertificates,
  createCertificate,
  createKeyPair,
  formatPem,
  generalNameDer,
  readPem,
  readPrivateKey,
  PkiError,
  type Certificate,
  type KeyPair,
} from './index.ts';

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2055-01-01T00:00:00Z') };

describe('readCertificate', () => {
  let keys: KeyPair;
  let certificate: Certificate;
  before(async () => {
    keys = await createKeyPair({ curve: 'P-256' });
    certificate = createCertificate({
      subject: [
        ['C', 'US'],
        ['O', 'Beispiel — Klinik'],
        ['CN', 'all'],
      ],
      ...keys,
      ...validity,
      serialNumber: Buffer.from('00ff01', 'hex'),
      isCa: true,
      pathLength: 2,
      keyUsage: ['digitalSignature', 'keyCertSign', 'decipherOnly'],
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.4'],
      rfc822Names: ['a@direct.alpha.example'],
      dnsNames: ['direct.alpha.example'],
      otherNames: [generalNameDer.uri('https://alpha.example/'), generalNameDer.directory([['CN', 'x']])],
      caIssuerUrls: ['http://aia.example/a.cer'],
      crlUrls: ['http://crl.example/a.crl'],
      policyOids: ['1.3.6.1.4.1.41179.1.3'],
    });
  });

  test('RFC 5280 §4.1 every field that the path rules need', () => {
    assert.equal(certificate.version, 3);
    assert.equal(certificate.serialNumber, 'ff01');
    assert.deepEqual(Buffer.from(certificate.serialNumberDer), Buffer.from('00ff01', 'hex'));
    assert.equal(certificate.subject, 'C=US, O=Beispiel — Klinik, CN=all');
    assert.equal(certificate.isSelfIssued, true);
    assert.deepEqual([certificate.notBefore, certificate.notAfter], [validity.notBefore, validity.notAfter]);
    assert.deepEqual([certificate.keyType, certificate.keyBits, certificate.curve], ['ec', 256, 'P-256']);
    assert.deepEqual([certificate.isCa, certificate.pathLength], [true, 2]);
    assert.deepEqual([...(certificate.keyUsage ?? [])], ['digitalSignature', 'keyCertSign', 'decipherOnly']);
    assert.deepEqual(certificate.extendedKeyUsage, ['1.3.6.1.5.5.7.3.4']);
    assert.deepEqual(
      [certificate.rfc822Names, certificate.dnsNames],
      [['a@direct.alpha.example'], ['direct.alpha.example']],
    );
    assert.deepEqual(
      [certificate.caIssuerUrls, certificate.crlUrls],
      [['http://aia.example/a.cer'], ['http://crl.example/a.crl']],
    );
    assert.deepEqual(certificate.policyOids, ['1.3.6.1.4.1.41179.1.3']);
    assert.deepEqual(certificate.unknownCriticalOids, []);
    assert.equal(
      certificate.publicKey
        .export({ type: 'spki', format: 'der' })
        .equals(keys.publicKey.export({ type: 'spki', format: 'der' })),
      true,
    );
  });

  test('RFC 5280 §4.1.2.5 times from 2050 on are GeneralizedTime', () => {
    assert.equal(certificate.notAfter.getUTCFullYear(), 2055);
  });

  test('a certificate keeps its own bytes when its source is changed', () => {
    const bytes = Buffer.from(certificate.der);
    const read = readCertificate(bytes);
    bytes.fill(0);
    assert.deepEqual(read.der, certificate.der);
  });

  test('text of names cannot act on a terminal', () => {
    const odd = createCertificate({ subject: [['CN', 'a\u001b[2Jb\u202ec']], ...keys, ...validity });
    assert.equal(odd.subject, 'CN=a?[2Jb?c');
  });

  test('RFC 5280 §7.1 names are compared without case and blanks, attribute by attribute', () => {
    const make = (name: string) =>
      createCertificate({ subject: [['CN', name]], ...keys, ...validity }).subjectKey;
    assert.equal(make('Alpha  Anchor '), make('alpha anchor'));
    assert.notEqual(make('alpha anchor'), make('alphaanchor'));
    assert.notEqual(
      make('a, O=b'),
      createCertificate({
        subject: [
          ['CN', 'a'],
          ['O', 'b'],
        ],
        ...keys,
        ...validity,
      }).subjectKey,
    );
  });

  const parts = () => readAsn1(certificate.der).children.map((part) => Buffer.from(encodedBytes(part)));
  const bodyFields = () =>
    (readAsn1(certificate.der).children[0]?.children ?? []).map((part) => Buffer.from(encodedBytes(part)));
  const assembled = (body: Buffer) => {
    const [, algorithm = Buffer.alloc(0), signature = Buffer.alloc(0)] = parts();
    return der.sequence(body, algorithm, signature);
  };
  const changedBody = (change: (fields: Buffer[]) => void) => {
    const fields = bodyFields();
    change(fields);
    return assembled(der.sequence(...fields));
  };

  const malformed: readonly { title: string; make: () => Uint8Array }[] = [
    { title: 'nothing', make: () => new Uint8Array() },
    { title: 'text', make: () => Buffer.from('hello') },
    { title: 'cut short', make: () => certificate.der.subarray(0, -1) },
    { title: 'bytes behind it', make: () => Buffer.concat([certificate.der, Buffer.of(0)]) },
    {
      title: 'a length in more bytes than needed',
      make: () => Buffer.concat([Buffer.of(0x30, 0x83, 0), certificate.der.subarray(2)]),
    },
    {
      title: 'an indefinite length',
      make: () => Buffer.concat([Buffer.of(0x30, 0x80), certificate.der.subarray(4), Buffer.of(0, 0)]),
    },
    { title: 'a fourth part', make: () => der.sequence(...parts(), der.null()) },
    {
      title: 'another algorithm outside than inside',
      make: () =>
        der.sequence(
          parts()[0] ?? Buffer.alloc(0),
          der.sequence(der.oid('1.2.840.10045.4.3.3')),
          parts()[2] ?? Buffer.alloc(0),
        ),
    },
    {
      title: 'a signature that is not whole bytes',
      make: () =>
        der.sequence(
          parts()[0] ?? Buffer.alloc(0),
          parts()[1] ?? Buffer.alloc(0),
          der.bitString(Buffer.of(0xf0), 4),
        ),
    },
    {
      title: 'version 4',
      make: () => changedBody((fields) => void (fields[0] = der.explicit(0, der.integer(3)))),
    },
    { title: 'extensions in version 1', make: () => changedBody((fields) => void fields.shift()) },
    {
      title: 'no notAfter (ETT NO_NOTAFTER)',
      make: () => changedBody((fields) => void (fields[4] = der.sequence(der.time(validity.notBefore)))),
    },
    { title: 'no validity at all', make: () => changedBody((fields) => void (fields[4] = der.sequence())) },
    {
      title: 'a third time',
      make: () =>
        changedBody(
          (fields) =>
            void (fields[4] = der.sequence(
              der.time(validity.notBefore),
              der.time(validity.notAfter),
              der.time(validity.notAfter),
            )),
        ),
    },
    {
      title: 'a date that does not exist',
      make: () =>
        changedBody(
          (fields) =>
            void (fields[4] = der.sequence(
              der.tlv(23, Buffer.from('260230000000Z')),
              der.time(validity.notAfter),
            )),
        ),
    },
    {
      title: 'a field nobody knows',
      make: () => changedBody((fields) => void fields.push(der.explicit(5, der.null()))),
    },
    { title: 'an extension given twice', make: () => withExtensions([sanExtension(), sanExtension()]) },
    {
      title: 'an extension that is no extension',
      make: () => withExtensions([der.sequence(der.oid('2.5.29.17'))]),
    },
    {
      title: 'a subjectAltName with the wrong content',
      make: () => withExtensions([der.sequence(der.oid('2.5.29.17'), der.octetString(der.integer(1)))]),
    },
    {
      title: 'a negative path length',
      make: () =>
        withExtensions([
          der.sequence(
            der.oid('2.5.29.19'),
            der.octetString(der.sequence(der.boolean(true), der.integer(-1))),
          ),
        ]),
    },
    {
      title: 'a name constraint with a NUL',
      make: () =>
        withExtensions([
          der.sequence(
            der.oid('2.5.29.30'),
            der.octetString(der.sequence(der.implicit(0, true, der.sequence(generalNameDer.dns('a\0b'))))),
          ),
        ]),
    },
  ];
  const sanExtension = () =>
    der.sequence(der.oid('2.5.29.17'), der.octetString(der.sequence(generalNameDer.dns('x.example'))));
  const withExtensions = (extensions: Buffer[]) =>
    changedBody((fields) => void (fields[7] = der.explicit(3, der.sequence(...extensions))));
  for (const { title, make } of malformed) {
    test(`AS-15, TRUST-01 not a certificate: ${title}`, () =>
      refusedAtOnce('PKI_CERTIFICATE_MALFORMED', () => readCertificate(make())));
  }

  test('SEC-11 a certificate larger than any real one', () => {
    refusedAtOnce('PKI_TOO_LARGE', () => readCertificate(Buffer.alloc(300_000, 0x30)));
  });

  test('SEC-11 any bytes give a certificate or a coded refusal', () => {
    const seed = Buffer.from(certificate.der);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(seed.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.nat(seed.length),
        (changes, cut) => {
          const bytes = Buffer.from(seed);
          for (const [at, value] of changes) bytes[at] = value;
          for (const candidate of [bytes, bytes.subarray(0, cut), bytes.subarray(cut)]) {
            try {
              assert.equal(readCertificate(candidate).der.length, candidate.length);
            } catch (error) {
              assert.ok(error instanceof CodedError, String(error));
            }
          }
        },
      ),
      { numRuns: 1500 },
    );
  });
});

describe('readCertificates, PEM and keys', () => {
  let keys: KeyPair;
  let pair: readonly [Certificate, Certificate];
  before(async () => {
    keys = await createKeyPair({ curve: 'P-256' });
    const make = (name: string) => createCertificate({ subject: [['CN', name]], ...keys, ...validity });
    pair = [make('one'), make('two')];
  });
  const fingerprints = (all: readonly Certificate[]) => all.map(({ fingerprint }) => fingerprint);
  const pkcs7 = (certificates: readonly Certificate[]) =>
    der.sequence(
      der.oid('1.2.840.113549.1.7.2'),
      der.explicit(
        0,
        der.sequence(
          der.integer(1),
          der.set(),
          der.sequence(der.oid('1.2.840.113549.1.7.1')),
          der.implicit(0, true, ...certificates.map((one) => one.der)),
          der.set(),
        ),
      ),
    );

  test('PEM with several blocks and text between them, one DER, and PKCS#7 with and without armour', () => {
    const [one, two] = pair;
    const pem = `subject one\n${formatPem('CERTIFICATE', one.der)}\r\nand two\n${formatPem('CERTIFICATE', two.der)}${formatPem('X509 CRL', Buffer.of(0x30, 0))}`;
    const wanted = fingerprints(pair);
    assert.deepEqual(fingerprints(readCertificates(pem)), wanted);
    assert.deepEqual(fingerprints(readCertificates(Buffer.from(pem))), wanted);
    assert.deepEqual(fingerprints(readCertificates(one.der)), [one.fingerprint]);
    assert.deepEqual(fingerprints(readCertificates(pkcs7(pair))), wanted);
    for (const label of ['PKCS7', 'CMS', 'PKCS #7 SIGNED DATA', 'CERTIFICATE'])
      assert.deepEqual(fingerprints(readCertificates(formatPem(label, pkcs7(pair)))), wanted, label);
    assert.equal(readCertificate(formatPem('CERTIFICATE', one.der)).fingerprint, one.fingerprint);
  });

  test('PEM round trip with lines of 64', () => {
    const bytes = Buffer.from(pair[0].der);
    const text = formatPem('CERTIFICATE', bytes);
    assert.deepEqual(
      readPem(text).map(({ der }) => der),
      [bytes],
    );
    assert.ok(text.split('\n').every((line) => line.length <= 64));
  });

  test('sets that hold none', () => {
    for (const bytes of [
      Buffer.from('nothing'),
      pkcs7([]),
      Buffer.from(formatPem('PRIVATE KEY', Buffer.of(0x30, 0))),
      Buffer.of(0x30, 0x80),
    ]) {
      refusedAtOnce('PKI_CERTIFICATE_SET_MALFORMED', () => readCertificates(bytes));
    }
    refusedAtOnce('PKI_CERTIFICATE_SET_MALFORMED', () =>
      readCertificates('-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----'),
    );
  });

  test('one certificate is asked for and there are two', () => {
    const [one, two] = pair;
    refusedAtOnce('PKI_CERTIFICATE_MALFORMED', () =>
      readCertificate(formatPem('CERTIFICATE', one.der) + formatPem('CERTIFICATE', two.der)),
    );
  });

  test('SEC-11 a set larger than any real bundle', () => {
    refusedAtOnce('PKI_TOO_MANY_CERTIFICATES', () =>
      readCertificates(formatPem('CERTIFICATE', Buffer.of(0x30, 0)).repeat(2_001)),
    );
  });

  test('SEC-11 text armour of more blocks than any real file has is refused before all are read', () => {
    const empty = formatPem('CERTIFICATE', Buffer.alloc(0));
    assert.equal(readPem(empty.repeat(4_000)).length, 4_000);
    refusedAtOnce('PKI_TOO_MANY_CERTIFICATES', () => readPem(empty.repeat(4_001)));
    // A file whose certificates count only up to a number is no exception.
    refusedAtOnce('PKI_TOO_MANY_CERTIFICATES', () => readCertificates(empty.repeat(4_001), { first: 16 }));
  });

  test('private keys as PKCS#8 and SEC1, PEM and DER; errors never repeat the input', () => {
    const { privateKey } = keys;
    const forms = [
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      privateKey.export({ type: 'pkcs8', format: 'der' }),
      privateKey.export({ type: 'sec1', format: 'pem' }),
    ];
    for (const form of forms) assert.equal(readPrivateKey(form).equals(privateKey), true);
    for (const bad of [
      '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----',
      Buffer.from('secret'),
      '',
    ]) {
      assert.throws(
        () => readPrivateKey(bad),
        (error) => {
          assert.ok(error instanceof PkiError && error.code === 'PKI_KEY_MALFORMED');
          assert.doesNotMatch(`${error.stack}${String(error.cause)}`, /secret|c2Vj/);
          noteProvoked(error.code);
          return true;
        },
      );
    }
  });
});
