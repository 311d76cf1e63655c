import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { childAt, readAsn1, readOid } from '../../lib/asn1/index.ts';
import { DirectError } from '../../lib/direct/index.ts';
import {
  createAuthority,
  createCertificate,
  createIssuerFetcher,
  createKeyPair,
  issueDirectCertificate,
  readCertificate,
  type Certificate,
  type KeyPair,
} from '../../lib/pki/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import { loadMasterKey, openVault, type Storage } from '../../platform/index.ts';
import { createAudit } from '../audit/index.ts';
import { createTrust, type Trust } from '../trust/index.ts';
import {
  AgentError,
  agentErrors,
  createAgent,
  type Agent,
  type AgentOptions,
  type TrustWarning,
} from './index.ts';

const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2028-01-01T00:00:00Z') };
const alice = parseDirectAddress('alice@one.example');
const bob = parseDirectAddress('bob@two.example');
const carol = parseDirectAddress('carol@three.example');

let folder: string;
let storage: Storage;
let trust: Trust;
let agent: Agent;
let keys: KeyPair;
let authority: Certificate;
const certificates = new Map<string, Certificate>();
const provoked = new Set<string>();
const warnings: TrustWarning[] = [];
let discoveries = 0;

const message = (to: readonly DirectAddress[], text = 'hello'): Buffer =>
  Buffer.from(
    `From: ${alice}\r\nTo: ${to.join(', ')}\r\nDate: Mon, 01 Jun 2026 12:00:00 +0000\r\nMessage-ID: <1@one.example>\r\nMIME-Version: 1.0\r\nSubject: s\r\n\r\n${text}\r\n`,
  );

/** Too large for the main thread. */
const largeText = 'a line of a large message\r\n'.repeat(20_000);

async function addDomain(domain: string, certify = issueFor): Promise<void> {
  const pair = await createKeyPair();
  const certificate = certify(domain, pair.publicKey);
  certificates.set(domain, certificate);
  await trust.addDomain(domain);
  await trust.addKeyPair(domain, certificate.der, pair.privateKey);
}

const issueFor = (domain: string, publicKey: KeyPair['publicKey']): Certificate =>
  issueDirectCertificate({
    boundTo: { domain },
    publicKey,
    issuer: { certificate: authority, privateKey: keys.privateKey },
    ...validity,
  });

const usable = (address: DirectAddress) => {
  const der = certificates.get(address.slice(address.indexOf('@') + 1))?.der ?? new Uint8Array();
  return { address, certificates: [der] };
};

const discovery: AgentOptions['discovery'] = {
  async discover(address) {
    discoveries++;
    const found = certificates.get(address.slice(address.indexOf('@') + 1));
    const common = { steps: [], isTransient: false, isFromCache: false };
    if (found === undefined) return { outcome: 'absent', certificates: [], ...common };
    return { outcome: 'found', source: 'dns-domain', certificates: [found], ...common };
  },
};

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-agent-'));
  storage = await openTestStorage();
  const vault = await openVault({
    storage,
    masterKey: loadMasterKey({ file: path.join(folder, 'key'), createsFile: true }),
    clock,
  });
  trust = createTrust({
    storage,
    vault,
    clock,
    audit: createAudit({ storage, vault, clock, log: silentLog }),
  });
  keys = await createKeyPair();
  authority = createAuthority({
    subject: [['CN', 'CA']],
    publicKey: keys.publicKey,
    privateKey: keys.privateKey,
    ...validity,
  });
  for (const domain of ['one.example', 'two.example', 'three.example']) await addDomain(domain);
  agent = createAgent({
    trust,
    clock,
    discovery,
    fetchIssuers: async () => [],
    checkRevocation: async () =>
      ({ status: 'unknown', code: 'PKI_CRL_UNAVAILABLE', text: 'no list' }) as never,
    onWarning: (warning) => warnings.push(warning),
    threads: 1,
    keyTransports: new Map([['three.example', 'pkcs1']]),
  });
});
after(async () => {
  await agent.close();
  await storage.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe('the agent', () => {
  it('TRUST-02, TRUST-03: no recipient is usable until the sender’s domain has an anchor for that direction', async () => {
    const refused = await agent.resolveRecipients(alice, [bob]);
    assert.deepEqual([refused.usable.length, refused.refused[0]?.reason], [0, 'untrusted']);
    await trust.addAnchor('one.example', authority.der, 'incoming');
    assert.equal((await agent.resolveRecipients(alice, [bob])).usable.length, 0);
    await trust.addAnchor('one.example', authority.der, 'outgoing');
    const resolved = await agent.resolveRecipients(alice, [
      bob,
      carol,
      parseDirectAddress('x@nowhere.example'),
    ]);
    assert.deepEqual(resolved.usable.map((one) => one.address).toSorted(), [bob, carol]);
    assert.deepEqual(readCertificate(resolved.usable[0]?.certificates[0] ?? '').dnsNames.length, 1);
    assert.equal(resolved.refused[0]?.reason, 'no-certificate');
  });

  it('AS-57, DISC-14: seals with the key transport that a peer can read, and opens again; each of our domains decides for itself', async () => {
    const sealed = await agent.seal(alice, message([bob, carol]), [usable(bob), usable(carol)]);
    assert.equal(Buffer.from(sealed).includes('hello'), false);
    assert.deepEqual(transportsOf(sealed).toSorted(), ['1.2.840.113549.1.1.1', '1.2.840.113549.1.1.7']);
    const envelope = { mailFrom: alice, recipients: [bob, carol], message: sealed };
    await assert.rejects(
      agent.openIncoming(envelope),
      (error) =>
        error instanceof DirectError &&
        error.code === 'DIRECT_SENDER_UNTRUSTED' &&
        error.reason === 'PKI_NO_ANCHORS',
    );
    await trust.addAnchor('two.example', authority.der, 'incoming');
    const before = discoveries;
    const opened = await agent.openIncoming(envelope);
    // The sender's certificate came in the message.
    assert.equal(discoveries, before);
    assert.deepEqual([opened.sender, opened.recipients, opened.binding], [alice, [bob], 'domain']);
    const [{ detail = '', signer, ...refused } = { detail: '', signer: undefined }] = opened.refused;
    assert.deepEqual(refused, { recipients: [carol], code: 'PKI_NO_ANCHORS' });
    assert.equal(
      signer?.certificates[0]?.fingerprint,
      certificates.get('one.example')?.fingerprint,
      'whose certificate the operator can look at',
    );
    assert.match(detail, /^CN=.*\(serial [0-9a-f]+\): no trust anchor is configured$/);
    // TRUST-07: soft-fail, but not silently.
    assert.deepEqual(new Set(warnings.map((warning) => warning.address)), new Set([bob, carol, alice]));
    assert.deepEqual(Buffer.from(opened.inner), message([bob, carol]));
    assert.equal(opened.signerFingerprint, certificates.get('one.example')?.fingerprint);
  });

  it('a key opens mail for its own address, or its own domain, and for no other recipient of the envelope', async () => {
    const [x, y] = [parseDirectAddress('x@four.example'), parseDirectAddress('y@four.example')];
    await trust.addDomain('four.example');
    await trust.addAnchor('four.example', authority.der, 'incoming');
    const own = new Map<DirectAddress, Uint8Array>();
    for (const address of [x, y]) {
      const pair = await createKeyPair();
      const certificate = issueDirectCertificate({
        boundTo: { address },
        publicKey: pair.publicKey,
        issuer: { certificate: authority, privateKey: keys.privateKey },
        ...validity,
      });
      await trust.addKeyPair(address, certificate.der, pair.privateKey);
      own.set(address, certificate.der);
    }
    const usableOwn = (address: DirectAddress) => ({
      address,
      certificates: [own.get(address) ?? new Uint8Array()],
    });
    const open = async (sealedFor: readonly DirectAddress[]) => {
      const sealed = await agent.seal(alice, message([x, y]), sealedFor.map(usableOwn));
      const envelope = { mailFrom: alice, recipients: [x, y], message: sealed };
      const { recipients, refused } = await agent.openIncoming(envelope);
      return [recipients, refused];
    };
    const notFor = (address: DirectAddress) => [{ recipients: [address], code: 'DIRECT_UNKNOWN_RECIPIENT' }];
    assert.deepEqual(await open([x]), [[x], notFor(y)]);
    assert.deepEqual(await open([y]), [[y], notFor(x)]);
    assert.deepEqual(await open([x, y]), [[x, y], []]);
  });

  it('a refusal keeps its code and its cause, also from a thread', async () => {
    for (const text of ['small', largeText])
      await assert.rejects(
        agent.openIncoming({ mailFrom: alice, recipients: [bob], message: message([bob], text) }),
        (error) =>
          error instanceof DirectError &&
          error.code === 'DIRECT_NOT_ENCRYPTED' &&
          error.reason === 'SMIME_NOT_ENCRYPTED',
      );
  });

  it('a large message is sealed and opened in threads, byte for byte', async () => {
    const sealed = await agent.seal(alice, message([bob], largeText), [usable(bob)]);
    const opened = await agent.openIncoming({ mailFrom: alice, recipients: [bob], message: sealed });
    assert.deepEqual(Buffer.from(opened.inner), message([bob], largeText));
  });

  it('SEC-11: says that only a fetch could decide, fetches nothing then, and decides when it may', async () => {
    const url = 'http://aia.six.example/ca.cer';
    const middle = await createKeyPair({ curve: 'P-256' });
    const issuer = {
      certificate: createCertificate({
        subject: [['CN', 'middle']],
        publicKey: middle.publicKey,
        issuer: { certificate: authority, privateKey: keys.privateKey },
        isCa: true,
        keyUsage: ['keyCertSign'],
        ...validity,
      }),
      privateKey: middle.privateKey,
    };
    await addDomain('six.example', (domain, publicKey) =>
      createCertificate({
        subject: [['CN', domain]],
        publicKey,
        issuer,
        isCa: false,
        keyUsage: ['digitalSignature', 'keyEncipherment'],
        dnsNames: [domain],
        caIssuerUrls: [url],
        ...validity,
      }),
    );
    let fetches = 0;
    let isUp = true;
    await using fetching = closing(
      createAgent({
        trust,
        clock,
        discovery,
        threads: 1,
        checkRevocation: async () => ({ status: 'good' }),
        fetchIssuers: createIssuerFetcher({
          now: () => clock.now(),
          fetch: async () => {
            fetches++;
            return isUp
              ? { status: 200, headers: {}, body: issuer.certificate.der }
              : { status: 503, headers: {}, body: new Uint8Array() };
          },
        }),
      }),
    );
    const dave = parseDirectAddress('dave@six.example');
    const text = message([bob, carol]).toString().replace(alice, dave);
    const sealed = await fetching.agent.seal(dave, Buffer.from(text), [usable(bob), usable(carol)]);
    const toBob = { mailFrom: dave, recipients: [bob], message: sealed };
    await assert.rejects(
      fetching.agent.openIncoming(toBob, { allowFetch: false }),
      (error) =>
        error instanceof DirectError && error.code === 'DIRECT_SENDER_NEEDS_FETCH' && error.isTransient,
    );
    assert.equal(fetches, 0);
    // Neither may an outage at the sender's side keep our other domains from a message forever.
    isUp = false;
    const toBoth = { mailFrom: dave, recipients: [bob, carol], message: sealed };
    await trust.addAnchor('three.example', issuer.certificate.der, 'incoming');
    await assert.rejects(
      fetching.agent.openIncoming(toBoth),
      (error) => error instanceof DirectError && error.code === 'DIRECT_SENDER_UNDECIDED',
    );
    const last = await fetching.agent.openIncoming(toBoth, { isLastAttempt: true });
    assert.deepEqual([last.recipients, fetches], [[carol], 1]);
    clock.advance(61_000);
    isUp = true;
    assert.deepEqual((await fetching.agent.openIncoming(toBob)).recipients, [bob]);
    assert.deepEqual((await fetching.agent.openIncoming(toBob, { allowFetch: false })).recipients, [bob]);
    assert.equal(fetches, 2);
  });

  it('AS-15: a sender with an expired certificate cannot send, and every recipient gets the reason', async () => {
    const signer = parseDirectAddress('x@old.example');
    await addDomain('old.example', (domain, publicKey) =>
      createCertificate({
        subject: [['CN', domain]],
        publicKey,
        issuer: { certificate: authority, privateKey: keys.privateKey },
        isCa: false,
        keyUsage: ['digitalSignature', 'keyEncipherment'],
        dnsNames: [domain],
        notBefore: validity.notBefore,
        notAfter: new Date(clock.now().getTime() + 1_000),
      }),
    );
    clock.advance(2_000);
    const { usable: reached, refused } = await agent.resolveRecipients(signer, [bob, carol]);
    assert.deepEqual(reached, []);
    assert.deepEqual(
      refused.map(({ recipient, reason, statusCode, isTransient }) => [
        recipient,
        reason,
        statusCode,
        isTransient,
      ]),
      [bob, carol].map((recipient) => [recipient, 'sender-certificate', '5.7.5', false]),
    );
    const text = message([bob]).toString().replace(alice, signer);
    await assert.rejects(
      agent.seal(signer, Buffer.from(text), [usable(bob)]),
      (error) =>
        error instanceof DirectError &&
        error.code === 'DIRECT_SENDER_CERTIFICATE_UNUSABLE' &&
        error.reason === 'PKI_EXPIRED',
    );
  });

  it('AS-16: a domain with a pair of single-use certificates signs with one and is encrypted to with the other', async () => {
    const dual = parseDirectAddress('dual@split.example');
    await trust.addDomain('split.example');
    for (const direction of ['incoming', 'outgoing'] as const)
      await trust.addAnchor('split.example', authority.der, direction);
    for (const use of ['digitalSignature', 'keyEncipherment'] as const) {
      const pair = await createKeyPair();
      const { der } = createCertificate({
        subject: [['CN', use]],
        publicKey: pair.publicKey,
        issuer: { certificate: authority, privateKey: keys.privateKey },
        isCa: false,
        keyUsage: [use],
        dnsNames: ['split.example'],
        ...validity,
      });
      await trust.addKeyPair('split.example', der, pair.privateKey);
      assert.equal((await trust.findPublished('split.example')).length, 1, 'the first one while it is alone');
    }
    const [published, ...others] = await trust.findPublished('split.example');
    assert.ok(published !== undefined && others.length === 0);
    certificates.set('split.example', readCertificate(published));
    assert.equal((await agent.resolveRecipients(dual, [bob])).usable.length, 1);
    const [toDual] = (await agent.resolveRecipients(alice, [dual])).usable;
    assert.ok(toDual !== undefined);
    const text = message([dual]).toString().replace(alice, dual);
    const sealed = await agent.seal(dual, Buffer.from(text), [toDual]);
    const opened = await agent.openIncoming({ mailFrom: dual, recipients: [dual], message: sealed });
    assert.deepEqual([opened.sender, opened.recipients], [dual, [dual]]);
    assert.notEqual(opened.signerFingerprint, certificates.get('split.example')?.fingerprint);
  });

  it('without a key there is nothing to sign or to open with', async () => {
    const notHosted = parseDirectAddress('x@nowhere.example');
    await refuses('AGENT_NO_SIGNING_KEY', () => agent.seal(notHosted, message([bob]), [usable(bob)]));
    await refuses('AGENT_NO_DECRYPTION_KEY', () =>
      agent.openIncoming({ mailFrom: alice, recipients: [notHosted], message: message([bob]) }),
    );
  });
});

function closing(opened: Agent): { readonly agent: Agent } & AsyncDisposable {
  return { agent: opened, [Symbol.asyncDispose]: () => opened.close() };
}

/** The key transport algorithms of the envelope's recipients. */
function transportsOf(sealed: Uint8Array): string[] {
  const text = Buffer.from(sealed).toString('latin1');
  const cms = readAsn1(Buffer.from(text.slice(text.indexOf('\r\n\r\n')), 'base64'));
  const recipientInfos = childAt(childAt(childAt(cms, 1), 0), 1);
  return recipientInfos.children.map((info) => readOid(childAt(childAt(info, 2), 0)));
}

async function refuses(code: keyof typeof agentErrors, work: () => Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => error instanceof AgentError && error.code === code);
  provoked.add(code);
}

it('every refusal code of this module was provoked', () => {
  assert.deepEqual([...provoked].sort(), Object.keys(agentErrors).sort());
});
