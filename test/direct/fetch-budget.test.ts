/** Limits of the fetches that an outsider's message causes: their number and their time (TRUST-05, SEC-11). */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { GuardedFetch } from '../../src/lib/fetch/index.ts';
import {
  createIssuerFetcher,
  createRevocationChecker,
  createValidationBudget,
  generalNameDer,
  validatePath,
  type Certificate,
} from '../../src/lib/pki/index.ts';
import type { SigningKey } from '../../src/lib/smime/index.ts';
import { countTurns } from './support/count-turns.ts';
import { createFilesFetch, type ServedFile } from './support/files-fetch.ts';
import { noteProvoked, refusedWith } from './support/refusals.ts';
import {
  createMessageWorld,
  makeMessage,
  receive,
  signerOf,
  signWith,
  type MessageWorld,
} from './support/test-messages.ts';
import { alice, at, createTestPki, future, past } from './support/test-pki.ts';

/** Counts fetches; each answers only on request. */
function createSilentFetch(): { readonly fetch: GuardedFetch; readonly urls: string[] } {
  const urls: string[] = [];
  return {
    urls,
    fetch: (url) => {
      urls.push(url);
      return new Promise(() => {});
    },
  };
}

describe('the budget of one message', () => {
  let world: MessageWorld;
  let intermediateSigner: SigningKey;
  const intermediateUrl = 'http://aia.alpha.example/intermediate.cer';
  before(async () => {
    world = createMessageWorld(await createTestPki());
    intermediateSigner = signerOf(world.pki, {
      issuer: world.pki.intermediate,
      caIssuerUrls: [intermediateUrl],
    });
  });

  /** A signer under an outsider's CA, four fetches below a root that nobody trusts; each server is another host. */
  function hostileSigner(index: number, files: Map<string, ServedFile>): SigningKey {
    let issuer = world.pki.untrustedCa;
    const urls: string[] = [];
    for (let hop = 0; hop < 4; hop++) {
      const keys = world.pki.spareKeys[hop];
      assert.ok(keys);
      const url = `http://s${index}-${hop}.evil.example/ca.cer`;
      issuer = world.pki.issueAuthority({
        keys,
        issuer,
        subject: [['CN', `step ${index} ${hop}`]],
        caIssuerUrls: urls.slice(-1),
      });
      files.set(url, issuer.certificate.der);
      urls.push(url);
    }
    return signerOf(world.pki, {
      issuer,
      subject: [['CN', `signer ${index}`]],
      caIssuerUrls: urls.slice(-1),
    });
  }

  function hostileMessage(others: readonly SigningKey[] = []): {
    message: Buffer;
    files: Map<string, ServedFile>;
  } {
    const files = new Map<string, ServedFile>();
    const signers = Array.from({ length: 16 - others.length }, (_, index) => hostileSigner(index, files));
    return { message: makeMessage(world, { sign: signWith([...signers, ...others]) }), files };
  }

  test('SEC-11 sixteen untrusted signers with four AIA hops each cost eight fetches, not sixty-four', async () => {
    const { message, files } = hostileMessage();
    const { fetch, count } = createFilesFetch(files);
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    await refusedWith('DIRECT_SENDER_UNDECIDED', () => receive(world, message, { fetchIssuers }));
    const total = [...files.keys()].reduce((sum, url) => sum + count(url), 0);
    assert.equal(total, 8);
  });

  test('SEC-11 servers that never answer hold a message up no longer than its time budget: PKI_FETCH_LIMIT', async () => {
    const { message } = hostileMessage();
    const { fetch, urls } = createSilentFetch();
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const budget = createValidationBudget({ timeMs: 50 });
    const error = await refusedWith('DIRECT_SENDER_UNDECIDED', () =>
      receive(world, message, { fetchIssuers, budget }),
    );
    assert.equal((error as { reason?: string }).reason, 'PKI_FETCH_LIMIT');
    assert.equal(urls.length, 1);
  });

  test('AS-76 a trusted signer behind fifteen hostile ones is found without any fetch', async () => {
    const { message, files } = hostileMessage([world.signer]);
    const { fetch, count } = createFilesFetch(files);
    const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
    const { signer } = await receive(world, message, { fetchIssuers });
    assert.deepEqual(signer.certificate, world.signer.certificate.der);
    assert.equal(
      [...files.keys()].reduce((sum, url) => sum + count(url), 0),
      0,
    );
  });

  const worthless: readonly { title: string; make: () => SigningKey; code: string }[] = [
    {
      title: 'not bound to the sender',
      make: () =>
        signerOf(world.pki, {
          issuer: world.pki.intermediate,
          rfc822Names: ['mallory@direct.alpha.example'],
          caIssuerUrls: [intermediateUrl],
        }),
      code: 'DIRECT_SENDER_SIGNATURE_MISSING',
    },
    {
      title: 'expired',
      make: () =>
        signerOf(world.pki, {
          issuer: world.pki.intermediate,
          notAfter: past(1),
          caIssuerUrls: [intermediateUrl],
        }),
      code: 'DIRECT_SENDER_UNTRUSTED',
    },
    {
      title: 'under an enclosed root, which points to more',
      make: () => signerOf(world.pki, { issuer: selfSignedRoot() }),
      code: 'DIRECT_SENDER_UNTRUSTED',
    },
  ];
  const selfSignedRoot = () => {
    const [keys] = world.pki.spareKeys;
    assert.ok(keys);
    const subject = [['CN', 'own root']] as const;
    const draft = world.pki.issueAuthority({ keys, subject: [['CN', 'own root']] });
    return world.pki.issueAuthority({
      keys,
      subject: [...subject],
      issuer: { certificate: draft.certificate, privateKey: keys.privateKey },
      caIssuerUrls: [intermediateUrl],
    });
  };
  for (const { title, make, code } of worthless) {
    test(`SEC-11 nothing is fetched for a signer that is ${title}`, async () => {
      const { fetch, urls } = createSilentFetch();
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      const message = makeMessage(world, { sign: signWith([make()], [selfSignedRoot().certificate]) });
      await refusedWith(code, () => receive(world, message, { fetchIssuers }));
      assert.deepEqual(urls, []);
    });
  }

  test('TRUST-06 a message that uses the budget up does not pass unchecked under soft-fail: PKI_FETCH_LIMIT', async () => {
    const { fetch, urls } = createSilentFetch();
    const checkRevocation = createRevocationChecker({ fetch });
    const leaf = world.pki.issue({ crlUrls: ['http://crl.alpha.example/alpha.crl'] });
    for (const budget of [
      createValidationBudget({ maxFetches: 0 }),
      createValidationBudget({ timeMs: 20 }),
    ]) {
      const error = await refusedWith('PKI_FETCH_LIMIT', () =>
        validatePath(leaf, 'signing', {
          at,
          anchors: world.anchors,
          address: alice,
          checkRevocation,
          budget,
          policy: { revocation: 'soft-fail' },
        }),
      );
      assert.equal(error.isTransient, true);
    }
    assert.equal(urls.length, 1);
  });

  describe('judged without the network', () => {
    test('TRUST-05 a sender whose issuer is missing: DIRECT_SENDER_NEEDS_FETCH, transient, and nothing is fetched', async () => {
      const message = makeMessage(world, { sign: signWith([intermediateSigner]) });
      const { fetch, urls } = createSilentFetch();
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      const error = await refusedWith('DIRECT_SENDER_NEEDS_FETCH', () =>
        receive(world, message, { fetchIssuers, allowFetch: false }),
      );
      assert.equal(error.isTransient, true);
      assert.equal((error as { reason?: string }).reason, 'PKI_FETCH_NEEDED');
      noteProvoked('PKI_FETCH_NEEDED');
      assert.deepEqual(urls, []);
    });

    test('TRUST-05 an issuer fetched before is used again', async () => {
      const message = makeMessage(world, { sign: signWith([intermediateSigner]) });
      const { fetch, count } = createFilesFetch(
        new Map([[intermediateUrl, world.pki.intermediate.certificate.der]]),
      );
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      await receive(world, message, { fetchIssuers });
      const { path } = await receive(world, message, { fetchIssuers, allowFetch: false });
      assert.equal(path.certificates.length, 3);
      assert.equal(count(intermediateUrl), 1);
    });

    test('TRUST-05 a fetch that failed a moment ago leaves the sender undecided, and needs none', async () => {
      const message = makeMessage(world, { sign: signWith([intermediateSigner]) });
      const { fetch, count } = createFilesFetch(new Map([[intermediateUrl, 'timeout' as const]]));
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      for (const allowFetch of [true, false])
        await refusedWith('DIRECT_SENDER_UNDECIDED', () =>
          receive(world, message, { fetchIssuers, allowFetch }),
        );
      assert.equal(count(intermediateUrl), 1);
    });

    test('TRUST-05 a sender without a way to more certificates is refused at once', async () => {
      const message = makeMessage(world, {
        sign: signWith([signerOf(world.pki, { issuer: world.pki.untrustedCa })]),
      });
      await refusedWith('DIRECT_SENDER_UNTRUSTED', () => receive(world, message, { allowFetch: false }));
    });

    test('TRUST-06 the CRL of a trusted sender’s CA is fetched all the same', async () => {
      const crlUrl = 'http://crl.alpha.example/alpha.crl';
      const signer = signerOf(world.pki, { crlUrls: [crlUrl] });
      const message = makeMessage(world, { sign: signWith([signer]) });
      const revoked = [
        {
          serialNumber: signer.certificate.serialNumberDer,
          revokedAt: past(2),
          reason: 'keyCompromise' as const,
        },
      ];
      const { fetch, count } = createFilesFetch(
        new Map([[crlUrl, world.pki.crl({ revoked, nextUpdate: future(1) })]]),
      );
      const checkRevocation = createRevocationChecker({ fetch });
      await refusedWith('DIRECT_SENDER_UNTRUSTED', () =>
        receive(world, message, { checkRevocation, allowFetch: false }),
      );
      assert.equal(count(crlUrl), 1);
    });
  });

  describe('the issuer fetcher', () => {
    const leafAt = (...caIssuerUrls: string[]): Certificate =>
      world.pki.issue({ issuer: world.pki.intermediate, caIssuerUrls });

    test('SEC-11 no request goes to a failed host for one minute', async () => {
      const urls = ['http://slow.evil.example/1.cer', 'http://slow.evil.example/2.cer'];
      const { fetch, count } = createFilesFetch(new Map(urls.map((url) => [url, 'timeout' as const])));
      let now = at;
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => now });
      for (const url of urls) await refusedWith('PKI_ISSUER_UNAVAILABLE', () => fetchIssuers(leafAt(url)));
      assert.deepEqual(urls.map(count), [1, 0]);
      now = new Date(at.getTime() + 60_001);
      await refusedWith('PKI_ISSUER_UNAVAILABLE', () => fetchIssuers(leafAt(urls[1] ?? '')));
      assert.deepEqual(urls.map(count), [1, 1]);
    });

    test('SEC-11 a host that serves others is not left alone because of one file that fails', async () => {
      const [good, bad, later] = ['good', 'bad', 'later'].map((name) => `http://ca.example/${name}.cer`) as [
        string,
        string,
        string,
      ];
      const { der: bytes } = world.pki.intermediate.certificate;
      const { fetch, count } = createFilesFetch(
        new Map<string, ServedFile>([
          [good, bytes],
          [bad, 'timeout'],
          [later, bytes],
        ]),
      );
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      await fetchIssuers(leafAt(good));
      for (let times = 0; times < 2; times++)
        await refusedWith('PKI_ISSUER_UNAVAILABLE', () => fetchIssuers(leafAt(bad)));
      assert.equal((await fetchIssuers(leafAt(later))).length, 1);
      assert.deepEqual([good, bad, later].map(count), [1, 1, 1]);
    });

    test('SEC-11 a file that is missing says nothing about its host', async () => {
      const good = 'http://aia.alpha.example/good.cer';
      const { fetch } = createFilesFetch(new Map([[good, world.pki.intermediate.certificate.der]]));
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      await refusedWith('PKI_ISSUER_NOT_FOUND', () =>
        fetchIssuers(leafAt('http://aia.alpha.example/none.cer')),
      );
      assert.equal((await fetchIssuers(leafAt(good))).length, 1);
    });

    test('SEC-11 failed hosts are kept in bounded room: the oldest are evicted first', async () => {
      const counts = new Map<string, number>();
      const fetch: GuardedFetch = async (url) => {
        counts.set(url, (counts.get(url) ?? 0) + 1);
        return { status: 503, headers: {}, body: new Uint8Array() };
      };
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      const withUrl = (index: number) => ({ ...leafAt(), caIssuerUrls: [`http://h${index}.evil.example/`] });
      for (let index = 0; index < 1_500; index++)
        await refusedWith('PKI_ISSUER_UNAVAILABLE', () => fetchIssuers(withUrl(index)));
      await refusedWith('PKI_ISSUER_UNAVAILABLE', () => fetchIssuers(withUrl(1_499)));
      await refusedWith('PKI_ISSUER_UNAVAILABLE', () => fetchIssuers(withUrl(0)));
      assert.equal(counts.get('http://h1499.evil.example/'), 1);
      assert.equal(counts.get('http://h0.evil.example/'), 2);
    });

    test('SEC-11 large answers are kept in bounded room: the oldest is fetched again', async () => {
      // A certificate of some 200 kB, as an outsider may serve it.
      const large = world.pki.issueAuthority({
        otherNames: [generalNameDer.uri(`http://${'a'.repeat(200_000)}.example/`)],
      }).certificate;
      const counts = new Map<string, number>();
      const fetch: GuardedFetch = async (url) => {
        counts.set(url, (counts.get(url) ?? 0) + 1);
        return { status: 200, headers: {}, body: large.der };
      };
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      const urlOf = (index: number) => `http://ca.example/${index}.cer`;
      const fetchAt = (index: number) => fetchIssuers({ ...leafAt(), caIssuerUrls: [urlOf(index)] });
      const fitting = Math.floor((16 * 1024 * 1024) / large.der.length);
      for (let index = 0; index <= fitting; index++) await fetchAt(index);
      await fetchAt(fitting);
      await fetchAt(0);
      assert.deepEqual([counts.get(urlOf(fitting)), counts.get(urlOf(0))], [1, 2]);
    });

    test('SEC-11 one download serves all that wait for it, and outlives who waits no longer', async () => {
      const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<GuardedFetch>>>();
      let fetches = 0;
      const fetchIssuers = createIssuerFetcher({
        fetch: () => {
          fetches++;
          return promise;
        },
        now: () => at,
      });
      const leaf = leafAt(intermediateUrl);
      await refusedWith('PKI_FETCH_LIMIT', () => fetchIssuers(leaf, createValidationBudget({ timeMs: 10 })));
      await assert.rejects(fetchIssuers(leaf, createValidationBudget({ timeMs: 10 })), {
        message: /more than 0.01 s/,
      });
      const others = [fetchIssuers(leaf), fetchIssuers(leaf)];
      resolve({ status: 200, headers: {}, body: world.pki.intermediate.certificate.der });
      assert.deepEqual(
        (await Promise.all(others)).map((found) => found.length),
        [1, 1],
      );
      assert.equal(fetches, 1);
    });

    test('TRUST-05 fetches a second URL only if the first gave no issuer', async () => {
      const [wrong, right, spare] = ['http://a.example/', 'http://b.example/', 'http://c.example/'] as const;
      const { fetch, count } = createFilesFetch(
        new Map([
          [wrong, world.pki.untrustedCa.certificate.der],
          [right, world.pki.intermediate.certificate.der],
          [spare, world.pki.intermediate.certificate.der],
        ]),
      );
      const fetchIssuers = createIssuerFetcher({ fetch, now: () => at });
      const found = await fetchIssuers(leafAt(wrong, right, spare));
      assert.equal(found.at(-1)?.fingerprint, world.pki.intermediate.certificate.fingerprint);
      assert.deepEqual([wrong, right, spare].map(count), [1, 1, 0]);
    });
  });

  test('SEC-11 the signatures of many possible issuers are verified in several turns of the event loop', async () => {
    const { pki } = world;
    const publicKey = pki.ecKeys.publicKey;
    const crowd = Array.from(
      { length: 40 },
      () => pki.issueAuthority({ issuer: pki.untrustedCa, publicKey }).certificate,
    );
    const leaf = pki.issue({ issuer: pki.intermediate });
    const anchors = [pki.root.certificate];
    const turns = await countTurns(() =>
      refusedWith('PKI_SIGNATURE_INVALID', () =>
        validatePath(leaf, 'signing', { at, anchors, candidates: crowd }),
      ),
    );
    assert.ok(turns >= 4, `${turns} turns`);
  });
});
