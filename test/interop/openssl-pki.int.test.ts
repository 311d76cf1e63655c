/** Certificates and CRLs that this project makes, judged by OpenSSL; and fetching over real sockets (TRUST-05, TRUST-06, SEC-11). */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import {
  createIssuerFetcher,
  createRevocationChecker,
  formatPem,
  issueDirectCertificate,
  validatePath,
  type Certificate,
  type TrustContext,
} from '../../src/lib/pki/index.ts';
import { refusedWith } from '../direct/support/refusals.ts';
import { alice, at, createTestPki, future, past, type TestPki } from '../direct/support/test-pki.ts';
import {
  createTemporaryFolder,
  needsPrograms,
  runProgram,
  type TemporaryFolder,
} from '../support/processes.ts';

describe('OpenSSL on our certificates', needsPrograms('openssl'), () => {
  let pki: TestPki;
  let folder: TemporaryFolder;
  before(async () => {
    pki = await createTestPki();
    folder = await createTemporaryFolder('pki');
  });
  after(() => folder?.remove());

  async function verify(
    leaf: Certificate,
    crls: readonly Buffer[],
    extra: readonly string[] = [],
  ): Promise<string> {
    const write = async (name: string, text: string): Promise<string> => {
      const file = path.join(folder.path, name);
      await writeFile(file, text);
      return file;
    };
    const root = await write('root.pem', formatPem('CERTIFICATE', pki.root.certificate.der));
    const middle = await write('middle.pem', formatPem('CERTIFICATE', pki.intermediate.certificate.der));
    const leafFile = await write('leaf.pem', formatPem('CERTIFICATE', leaf.der));
    const crlFile = await write('crl.pem', crls.map((crl) => formatPem('X509 CRL', crl)).join(''));
    const time = String(Math.floor(at.getTime() / 1000));
    const crlOptions = crls.length > 0 ? ['-crl_check_all', '-CRLfile', crlFile] : [];
    const rules = ['-x509_strict', '-purpose', 'smimesign', '-attime', time, ...crlOptions, ...extra];
    const result = await runProgram('openssl', [
      'verify',
      ...rules,
      '-CAfile',
      root,
      '-untrusted',
      middle,
      leafFile,
    ]);
    return `${result.stdout.toString()}${result.stderr.toString()}`;
  }

  const issue = () =>
    issueDirectCertificate({
      boundTo: { address: alice },
      publicKey: pki.rsaKeys.publicKey,
      issuer: pki.intermediate,
      notBefore: past(1),
      notAfter: future(100),
      caIssuerUrls: ['http://aia.alpha.example/a.cer'],
      crlUrls: ['http://crl.alpha.example/a.crl'],
      policyOids: ['1.3.6.1.4.1.41179.1.3'],
    });
  const crlsWith = (revoked: Parameters<TestPki['crl']>[0]): Buffer[] => [
    pki.crl(),
    pki.crl({ issuer: pki.intermediate, ...revoked }),
  ];

  test('AS-18 a chain and its CRLs verify under the strict rules', async () => {
    assert.match(await verify(issue(), crlsWith({})), /leaf\.pem: OK/);
  });

  test('TRUST-06 a revoked certificate is seen as such', async () => {
    const leaf = issue();
    const revoked = [
      { serialNumber: leaf.serialNumberDer, revokedAt: past(1), reason: 'keyCompromise' as const },
    ];
    assert.match(await verify(leaf, crlsWith({ revoked })), /certificate revoked/);
  });

  test('TRUST-11 name constraints mean the same to OpenSSL', async () => {
    const middle = pki.issueAuthority({
      nameConstraints: { permitted: { rfc822: ['direct.gamma.example'] } },
    });
    const file = path.join(folder.path, 'limited.pem');
    await writeFile(file, formatPem('CERTIFICATE', middle.certificate.der));
    const leaf = pki.issue({ issuer: middle });
    assert.match(await verify(leaf, [], ['-untrusted', file]), /permitted subtree violation/);
  });

  test('AS-10 the extensions read as intended', async () => {
    const file = path.join(folder.path, 'text.pem');
    await writeFile(file, formatPem('CERTIFICATE', issue().der));
    const { stdout } = await runProgram('openssl', ['x509', '-in', file, '-noout', '-text']);
    for (const part of [
      /email:alice@direct\.alpha\.example/,
      /E-mail Protection/,
      /Digital Signature, Key Encipherment/,
      /CA Issuers - URI:http/,
      /CA:FALSE/,
    ]) {
      assert.match(stdout.toString(), part);
    }
  });
});

describe('fetching over real sockets', () => {
  let pki: TestPki;
  let server: Server;
  let baseUrl: string;
  let hits = 0;
  before(async () => {
    pki = await createTestPki();
    server = createServer((request, response) => {
      hits++;
      if (request.url === '/intermediate.cer') response.end(pki.intermediate.certificate.der);
      else if (request.url === '/large') response.end(Buffer.alloc(2_000_000, 0x30));
      else if (request.url === '/redirect') response.writeHead(302, { location: '/intermediate.cer' }).end();
      // Anything else is never answered.
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });

  function contextWith(allowPrivate: boolean): TrustContext {
    const fetch = createGuardedFetch({ allowPrivate, timeoutMs: 500, maxBytes: 1_000_000 });
    return {
      at,
      anchors: [pki.root.certificate],
      address: alice,
      fetchIssuers: createIssuerFetcher({ fetch, now: () => at, timeoutMs: 500 }),
      checkRevocation: createRevocationChecker({ fetch, timeoutMs: 500 }),
    };
  }
  const leafAt = (url: string): Certificate =>
    pki.issue({ issuer: pki.intermediate, caIssuerUrls: [`${baseUrl}${url}`] });

  test('TRUST-05 a missing issuer is fetched', async () => {
    assert.equal(
      (await validatePath(leafAt('/intermediate.cer'), 'signing', contextWith(true))).certificates.length,
      3,
    );
  });

  test('TRUST-05, SEC-11 no request goes to a private address', async () => {
    hits = 0;
    await refusedWith('PKI_ISSUER_NOT_FOUND', () =>
      validatePath(leafAt('/intermediate.cer'), 'signing', contextWith(false)),
    );
    const certificate = pki.issue({ crlUrls: [`${baseUrl}/a.crl`] });
    const { warnings } = await validatePath(certificate, 'signing', contextWith(false));
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ['PKI_CRL_UNAVAILABLE'],
    );
    assert.equal(hits, 0);
  });

  test('TRUST-05 an answer too large, a redirect: refused for good', async () => {
    for (const url of ['/large', '/redirect']) {
      await refusedWith('PKI_ISSUER_NOT_FOUND', () =>
        validatePath(leafAt(url), 'signing', contextWith(true)),
      );
    }
  });

  test('TRUST-05 no answer in time: undecided', async () => {
    await refusedWith('PKI_ISSUER_UNAVAILABLE', () =>
      validatePath(leafAt('/silence'), 'signing', contextWith(true)),
    );
  });
});
