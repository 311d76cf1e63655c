/**
 * The 18 receive scenarios of DirectTrust's testing tools, rebuilt: a tool outside sends real messages by SMTP to our HISP, looks into the
 * edge's inbox, and opens the MDNs that come back. Exception paths must bring no MDN of any kind (AS-78).
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createOutsideZone, demoAddress, domains, mailHosts } from '../../src/app/dev/index.ts';
import { openMessage } from '../../src/lib/direct/index.ts';
import { finalDeliveryHeaders, readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { buildMessage, parseEntity, wrapMessage, type HeaderPair } from '../../src/lib/mime/index.ts';
import {
  createAuthority,
  createKeyPair,
  issueDirectCertificate,
  readCertificate,
  readPrivateKey,
  type Certificate,
  type Issuer,
  type KeyPair,
} from '../../src/lib/pki/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { encryptEntity, signEntity, type KeyTransport, type SigningKey } from '../../src/lib/smime/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { openTestSandbox, waitFor, type TestSandbox } from '../system/sandbox-fixture.ts';

const toolDomain = 'direct.tool.example';
const dayMs = 86_400_000;

type Signer = 'good' | 'expired' | 'untrusted' | 'revoked';

interface Attachment {
  readonly mediaType: string;
  readonly content: Buffer;
  readonly fileName: string;
}

interface Scenario {
  readonly name: string;
  readonly accepted: boolean;
  /** One certificate for each; the signatures stand in this order. */
  readonly signers?: readonly Signer[];
  readonly headers?: readonly HeaderPair[];
  readonly asksFinalDelivery?: boolean;
  /** A dispatched MDN comes once the edge has acknowledged. */
  readonly isDispatched?: boolean;
  readonly isAltered?: boolean;
  readonly recipient?: string;
  readonly text?: string | null;
  readonly attachments?: readonly Attachment[];
  readonly keyTransport?: KeyTransport;
}

const cda = {
  mediaType: 'text/xml',
  fileName: 'ccda.xml',
  content: Buffer.from('<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"/>'),
};
const image = {
  mediaType: 'image/png',
  fileName: 'image.png',
  content: Buffer.from('89504e470d0a1a0a00ff00', 'hex'),
};
const pdf = {
  mediaType: 'application/pdf',
  fileName: 'paper.pdf',
  content: Buffer.from('%PDF-1.4\n\x00\xff%%EOF', 'latin1'),
};
const optionsHeader = (value: string): HeaderPair => ['Disposition-Notification-Options', value];

const scenarios: readonly Scenario[] = [
  {
    name: 'ExceptionPathBadNotificationRequestHeader',
    accepted: true,
    headers: [optionsHeader('X-DIRECT-FINAL-DESTINATION-DELIVERY=perhaps')],
  },
  { name: 'ExceptionPathEC', accepted: false, signers: ['expired'] },
  { name: 'ExceptionPathInvalidDigest', accepted: false, isAltered: true },
  { name: 'ExceptionPathNT', accepted: false, signers: ['untrusted'] },
  { name: 'ExceptionPathRevokedCert', accepted: false, signers: ['revoked'] },
  { name: 'HappyPathDeliveryIG', accepted: true, asksFinalDelivery: true, isDispatched: true },
  {
    name: 'HappyPathAllCapsLocalPart',
    accepted: true,
    recipient: demoAddress.replace(/^[^@]+/, (local) => local.toUpperCase()),
  },
  { name: 'HappyPathLowerCaseLocalPart', accepted: true, recipient: demoAddress.toLowerCase() },
  { name: 'HappyPathTextOnly', accepted: true },
  { name: 'HappyPathCDAOnly', accepted: true, text: null, attachments: [cda] },
  { name: 'HappyPathImageOnly', accepted: true, text: null, attachments: [image] },
  { name: 'HappyPathPDFOnly', accepted: true, text: null, attachments: [pdf] },
  { name: 'HappyPathMixedContent', accepted: true, attachments: [pdf, cda, image] },
  { name: 'HappyPathMultiCertsEC', accepted: true, signers: ['expired', 'good'] },
  { name: 'HappyPathMultiCertsNT', accepted: true, signers: ['good', 'untrusted'] },
  { name: 'HappyPathMultiCertsNTRSO', accepted: true, signers: ['untrusted', 'good'] },
  { name: 'HappyPathOAEPSHA1', accepted: true, keyTransport: 'oaep-sha1' },
  { name: 'HappyPathOAEPSHA256', accepted: true, keyTransport: 'oaep-sha256' },
];

interface ReceivedPage {
  readonly result: readonly { readonly messageId: string; readonly fromDirectAddress: string }[];
}

interface ReceivedMessage {
  readonly messageBody: string;
  readonly emailAttachmentList: readonly {
    readonly attachmentClass: string;
    readonly attachmentContent: string;
  }[];
}

interface Seen {
  readonly message?: ReceivedMessage;
  /** Dispositions, in the order in which the MDNs came. */
  readonly mdns: readonly string[];
  readonly refusals: readonly string[];
}

describe('the receive scenarios of the public tools', () => {
  let world: TestSandbox;
  let keys: KeyPair;
  let domainKey: { certificate: Certificate; privateKey: KeyPair['privateKey'] };
  let ownCertificate: Certificate;
  let issuers: { readonly trusted: Issuer; readonly untrusted: Issuer };
  const seen = new Map<string, Seen>();

  before(async () => {
    world = await openTestSandbox();
    const { authority, publish, hisp } = world.sandbox.world;
    keys = await createKeyPair();
    domainKey = await authority.issue({ domain: toolDomain });
    publish(
      createOutsideZone({
        domain: toolDomain,
        mailHost: mailHosts.silent,
        certificate: domainKey.certificate,
      }),
    );
    const [own] = await hisp.trust.findPublished(domains.own);
    ownCertificate = readCertificate(own ?? new Uint8Array());
    issuers = { trusted: readAuthority(world.folder), untrusted: await createUntrustedIssuer() };
    // All are made before the first message goes, so that the list that is then fetched has the revoked one.
    const signers = scenarios.map((scenario) =>
      (scenario.signers ?? ['good']).map((kind) => signerOf(scenario, kind)),
    );
    for (const [index, scenario] of scenarios.entries()) await deliver(scenario, signers[index] ?? []);
    await observe();
  });
  after(() => world.close());

  const senderOf = ({ name }: Scenario): DirectAddress =>
    parseDirectAddress(`${name.toLowerCase()}@${toolDomain}`);

  function signerOf(scenario: Scenario, kind: Signer): SigningKey {
    const { authority, side } = world.sandbox.world;
    const isExpired = kind === 'expired';
    const now = Date.now();
    const certificate = issueDirectCertificate({
      boundTo: { address: senderOf(scenario) },
      publicKey: keys.publicKey,
      issuer: kind === 'untrusted' ? issuers.untrusted : issuers.trusted,
      notBefore: new Date(now - 20 * dayMs),
      notAfter: new Date(now + (isExpired ? -1 : 20) * dayMs),
      // An URL of its own: the sandbox has fetched the usual one at its start and keeps that list for an hour.
      crlUrls: [`${side.baseUrl}/ca/sandbox.crl?scenarios`],
    });
    if (kind === 'revoked') authority.revoke(certificate);
    return { certificate, privateKey: keys.privateKey };
  }

  async function deliver(scenario: Scenario, signers: readonly SigningKey[]): Promise<void> {
    const from = senderOf(scenario);
    const recipient = scenario.recipient ?? demoAddress;
    const inner = buildMessage({
      from,
      to: [recipient],
      date: new Date(),
      messageId: `<${scenario.name}@${toolDomain}>`,
      subject: scenario.name,
      headers: [
        ...(scenario.asksFinalDelivery === true ? finalDeliveryHeaders(from) : []),
        ...(scenario.headers ?? []),
      ],
      ...(scenario.text === null ? {} : { text: `Text of ${scenario.name}` }),
      attachments: scenario.attachments ?? [],
    });
    let signed = signEntity(wrapMessage(inner), signers, { at: new Date() });
    if (scenario.isAltered === true)
      signed = Buffer.from(signed.toString('latin1').replace('Text of', 'Test of'), 'latin1');
    const { keyTransport } = scenario;
    const header = `From: ${from}\r\nTo: ${recipient}\r\nMIME-Version: 1.0\r\n`;
    const message = encryptEntity(
      signed,
      [{ certificate: ownCertificate, ...(keyTransport && { keyTransport }) }],
      { prefix: Buffer.from(header) },
    );
    const outcome = await sendMail({
      host: '127.0.0.2',
      port: world.sandbox.world.smtpPort,
      hostname: `mx.${toolDomain}`,
      mailFrom: from,
      recipients: [recipient],
      message,
      timeoutMs: 10_000,
    });
    assert.equal(outcome.accepted.length, 1, scenario.name);
  }

  /** Waits until everything that must come has come, and acknowledges it at the edge. */
  async function observe(): Promise<void> {
    const accepted = scenarios.filter((scenario) => scenario.accepted);
    const page = await waitFor(
      () => world.client.get('/messaging/dirmsg/inbox?limit=100') as Promise<ReceivedPage>,
      ({ result }) =>
        accepted.every((scenario) =>
          result.some((one) => one.fromDirectAddress.toLowerCase() === senderOf(scenario)),
        ),
    );
    await waitFor(readMdns, (mdns) => accepted.every((scenario) => mdns.has(scenario.name)));
    const messages = new Map<string, ReceivedMessage>();
    for (const { messageId, fromDirectAddress } of page.result) {
      const place = `/messaging/dirmsg/inbox/${encodeURIComponent(messageId)}`;
      messages.set(fromDirectAddress.toLowerCase(), (await world.client.get(place)) as ReceivedMessage);
      await world.client.post(`${place}/ack`);
    }
    // The scenario that asks for final delivery was sent among the others: once its MDN is there, all that were due are.
    const mdns = await waitFor(
      readMdns,
      (all) => all.get('HappyPathDeliveryIG')?.includes('dispatched') === true,
    );
    await world.sandbox.world.hisp.audit.flush();
    const rows = await world.sandbox.world.hisp.audit.find({ limit: 1_000 });
    for (const scenario of scenarios) {
      const message = messages.get(senderOf(scenario));
      const refusals = rows.filter(
        (row) => row.outcome === 'refused' && JSON.stringify(row).includes(senderOf(scenario)),
      );
      seen.set(scenario.name, {
        ...(message && { message }),
        mdns: mdns.get(scenario.name) ?? [],
        refusals: refusals.map((row) => JSON.stringify(row.objects)),
      });
    }
  }

  /** Dispositions of the MDNs that reached the tool, by the scenario's name. */
  function readMdns(): Map<string, string[]> {
    const all = new Map<string, string[]>();
    for (const { mailFrom, message } of world.sandbox.world.silentMail) {
      if (mailFrom.toLowerCase() !== demoAddress) continue;
      const mdn = readMdnOrDsn(parseEntity(openMessage({ message, keys: [domainKey] }).inner));
      const [id = ''] = mdn?.originalMessageIds ?? [];
      const name = id.slice(1, id.indexOf('@'));
      const disposition = mdn?.kind === 'mdn' ? String(mdn.disposition) : (mdn?.kind ?? 'no MDN');
      all.set(name, [...(all.get(name) ?? []), disposition]);
    }
    return all;
  }

  for (const scenario of scenarios) {
    const id = scenario.accepted ? 'MDN-01' : 'AS-78';
    it(`${id}: ${scenario.name}`, () => {
      const { message, mdns, refusals } = seen.get(scenario.name) ?? assert.fail('not observed');
      const expected = scenario.accepted
        ? ['processed', ...(scenario.isDispatched === true ? ['dispatched'] : [])]
        : [];
      assert.deepEqual(mdns, expected);
      assert.equal(message !== undefined, scenario.accepted);
      if (!scenario.accepted) {
        assert.equal(refusals.length > 0, true, 'the refusal is audited');
        return;
      }
      if (scenario.text !== null)
        assert.match(message?.messageBody ?? '', new RegExp(`Text of ${scenario.name}`));
      assert.deepEqual(
        message?.emailAttachmentList.map((one) => [one.attachmentClass, one.attachmentContent]),
        (scenario.attachments ?? []).map((one) => [one.mediaType, one.content.toString('base64')]),
      );
    });
  }
});

function readAuthority(folder: string): Issuer {
  const [keyFile] = globSync('**/sandbox-ca.key', { cwd: folder });
  assert.ok(keyFile);
  const place = path.join(folder, path.dirname(keyFile));
  return {
    certificate: readCertificate(readFileSync(path.join(place, 'sandbox-ca.cer'))),
    privateKey: readPrivateKey(readFileSync(path.join(place, 'sandbox-ca.key'))),
  };
}

async function createUntrustedIssuer(): Promise<Issuer> {
  const keys = await createKeyPair();
  const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
  return {
    certificate: createAuthority({ subject: [['CN', 'unknown anchor']], ...keys, ...validity }),
    privateKey: keys.privateKey,
  };
}
