/**
 * What a trusted peer may try against a whole HISP over SMTP: reports about messages of others, mail in the name
 * of others or for others than it was signed for, CMS that proves nothing, certificates of other addresses.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createOutsideZone, demoAddress, domains, mailHosts } from '../../src/app/dev/index.ts';
import { edgeAddress } from '../../src/app/dev/sandbox-names.ts';
import { der } from '../../src/lib/asn1/index.ts';
import { buildDsn, buildMdn } from '../../src/lib/mdn/index.ts';
import { wrapMessage } from '../../src/lib/mime/index.ts';
import {
  createKeyPair,
  issueDirectCertificate,
  readCertificate,
  type Certificate,
} from '../../src/lib/pki/index.ts';
import { encryptEntity, signEntity, type SigningKey } from '../../src/lib/smime/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import {
  algorithm,
  attribute,
  cmsEntity,
  forgeEnvelope,
  forgeSignedData,
  forgeSigner,
  goodAttributes,
  names,
} from '../peer-messages/forge-cms.ts';
import { openTestSandbox, readStatus, send, waitFor, type TestSandbox } from './sandbox-fixture.ts';

const eveDomain = 'direct.eve.example';
const eve = parseDirectAddress(`eve@${eveDomain}`);
/** Of another peer, whose messages nobody answers. */
const victim = parseDirectAddress('dr@direct.victim.example');
const other = edgeAddress;

let world: TestSandbox;
/** Of eve's domain; of eve's address alone; of the victim's domain, revoked later; of nobody trusted. */
let keys: Readonly<Record<'eve' | 'address' | 'self', SigningKey>>;
let ours: Certificate;

before(async () => {
  world = await openTestSandbox({ 'smtp.maxMessageBytes': '3000000' });
  const { authority, publish, hisp } = world.sandbox.world;
  const [ofEve, ofAddress, ofVictim] = [
    await authority.issue({ domain: eveDomain }),
    await authority.issue({ address: parseDirectAddress(`someone@${eveDomain}`) }),
    await authority.issue({ domain: 'direct.victim.example' }),
  ];
  publish(
    createOutsideZone({ domain: eveDomain, mailHost: mailHosts.silent, certificate: ofEve.certificate }),
  );
  publish(
    createOutsideZone({
      domain: 'direct.victim.example',
      mailHost: mailHosts.silent,
      certificate: ofVictim.certificate,
    }),
  );
  const own = await createKeyPair();
  // In the name of the authority, and for the victim, signed by eve's certificate of no authority.
  const fake = issueDirectCertificate({
    boundTo: { domain: 'direct.victim.example' },
    publicKey: own.publicKey,
    issuer: { certificate: ofEve.certificate, privateKey: ofEve.privateKey },
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
  });
  keys = { eve: ofEve, address: ofAddress, self: { certificate: fake, privateKey: own.privateKey } };
  const [published] = await hisp.trust.findPublished(domains.own);
  ours = readCertificate(published ?? new Uint8Array());
});
after(() => world?.close());

const headers = (id: string, fields: Readonly<Record<string, string | undefined>> = {}): string =>
  Object.entries({
    From: eve,
    To: demoAddress,
    Subject: id,
    Date: new Date().toUTCString().replace('GMT', '+0000'),
    'Message-ID': `<${id}@${eveDomain}>`,
    'MIME-Version': '1.0',
    'Content-Type': 'text/plain',
    ...fields,
  })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
const text = (id: string, fields: Readonly<Record<string, string | undefined>> = {}): Buffer =>
  Buffer.from(`${headers(id, fields)}\r\nHello.\r\n`);

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly message: Uint8Array;
}
interface Steps {
  readonly wrap?: (inner: Uint8Array) => Uint8Array;
  readonly sign?: (entity: Uint8Array) => Uint8Array;
  readonly encrypt?: (content: Uint8Array) => Uint8Array;
  readonly outer?: string;
  readonly from?: string;
  readonly to?: readonly string[];
}
const at = (): { at: Date } => ({ at: new Date() });
const signedBy =
  (...signers: SigningKey[]) =>
  (entity: Uint8Array): Buffer =>
    signEntity(entity, signers, at());
const encrypted = (content: Uint8Array): Buffer => encryptEntity(content, [{ certificate: ours }]);

function seal(inner: Uint8Array, steps: Steps = {}): Mail {
  const {
    wrap = wrapMessage,
    sign = signedBy(keys.eve),
    encrypt = encrypted,
    from = eve,
    to = [demoAddress],
  } = steps;
  const outer = steps.outer ?? `From: ${from}\r\nTo: ${to.join(', ')}\r\nMIME-Version: 1.0\r\n`;
  return { from, to, message: Buffer.concat([Buffer.from(outer), encrypt(sign(wrap(inner)))]) };
}

/** The reply of our server, or '' for acceptance. */
async function deliver({ from, to, message }: Mail): Promise<string> {
  try {
    const outcome = await sendMail({
      host: '127.0.0.2',
      port: world.sandbox.world.smtpPort,
      hostname: 'mx.eve.example',
      mailFrom: from,
      recipients: to,
      message,
      timeoutMs: 20_000,
    });
    return outcome.accepted.length === to.length ? '' : JSON.stringify(outcome);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Tables {
  inbox_message: { id: string; wire_id: string };
  inbox_copy: { message_id: string; address: string };
  inbound_mail: { last_error: string };
}
const tables = () => world.sandbox.world.hisp.storage.tables<Tables>();
/** Message ids of what clients can read, each with the address that has it. */
async function delivered(): Promise<readonly string[]> {
  // What only a fetch could decide waits for its next attempt.
  await waitFor(
    () => tables().selectFrom('inbound_mail').selectAll().execute(),
    (rows) => rows.every(({ last_error }) => last_error !== ''),
    60,
  );
  const rows = await tables()
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select(['m.wire_id', 'c.address'])
    .execute();
  return rows.map(({ wire_id, address }) => `${wire_id} ${address}`);
}

const signedEntity = (entity: Uint8Array, cms: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(
      'Content-Type: multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary=b\r\n\r\n--b\r\n',
    ),
    entity,
    Buffer.from('\r\n--b\r\n'),
    cmsEntity(cms, 'application/pkcs7-signature; name=smime.p7s'),
    Buffer.from('\r\n--b--\r\n'),
  ]);
/** A signature that the production code would not write. */
const forged =
  (
    change: (entity: Uint8Array) => Partial<Parameters<typeof forgeSigner>[0]>,
    more: Partial<Parameters<typeof forgeSignedData>[0]> = {},
    signers = 1,
  ) =>
  (entity: Uint8Array): Buffer =>
    signedEntity(
      entity,
      forgeSignedData({
        signers: Array.from({ length: signers }, () =>
          forgeSigner({ key: keys.eve, content: entity, ...change(entity) }),
        ),
        certificates: [keys.eve.certificate.der],
        ...more,
      }),
    );

/** What nobody may get, by name; the mail is made when it is sent. */
const unwanted: Readonly<Record<string, (id: string) => Mail>> = {
  'From is another peer': (id) => seal(text(id, { From: victim })),
  'From is another peer, in the envelope too': (id) => seal(text(id, { From: victim }), { from: victim }),
  'envelope of another peer': (id) => seal(text(id), { from: victim }),
  'From is one of ours': (id) => seal(text(id, { From: demoAddress })),
  'two From fields': (id) => seal(text(id, { From: `${eve}\r\nFrom: ${victim}` })),
  'two addresses in From': (id) => seal(text(id, { From: `${eve}, ${victim}` })),
  'another first in From': (id) => seal(text(id, { From: `${victim}, ${eve}` })),
  'a group in From': (id) => seal(text(id, { From: `x: ${victim};` })),
  'a comment in From': (id) => seal(text(id, { From: `${victim} (${eve})` })),
  'a subdomain of eve': (id) =>
    seal(text(id, { From: `a@sub.${eveDomain}` }), { from: `a@sub.${eveDomain}` }),
  'the parent domain': (id) => seal(text(id, { From: 'a@eve.example' }), { from: 'a@eve.example' }),
  'a domain that ends alike': (id) =>
    seal(text(id, { From: `a@x${eveDomain}` }), { from: `a@x${eveDomain}` }),
  'no From': (id) => seal(text(id, { From: undefined })),
  'an empty From': (id) => seal(text(id, { From: '' })),
  'a NUL in From': (id) => seal(text(id, { From: `${eve}\0${victim}` })),
  'a bare CR in From': (id) => seal(text(id, { From: `${victim}\r ${eve}` })),
  'certificate of another address': (id) => seal(text(id), { sign: signedBy(keys.address) }),
  'certificate issued by an end entity': (id) =>
    seal(text(id, { From: victim }), {
      from: victim,
      sign: (entity) =>
        signEntity(entity, [keys.self], { ...at(), extraCertificates: [keys.eve.certificate] }),
    }),
  'the certificate of another, signed by eve': (id) =>
    seal(text(id), {
      sign: forged((entity) => ({ content: entity }), { certificates: [keys.address.certificate.der] }),
    }),
  'no signer': (id) =>
    seal(text(id), {
      sign: (entity) =>
        signedEntity(entity, forgeSignedData({ signers: [], certificates: [keys.eve.certificate.der] })),
    }),
  'digest of other content': (id) =>
    seal(text(id), { sign: forged(() => ({ attributes: goodAttributes(Buffer.from('other')) })) }),
  'no digest attribute': (id) =>
    seal(text(id), { sign: forged((entity) => ({ attributes: goodAttributes(entity).slice(0, 2) })) }),
  'no content-type attribute': (id) =>
    seal(text(id), { sign: forged((entity) => ({ attributes: goodAttributes(entity).slice(1) })) }),
  'two digest attributes': (id) =>
    seal(text(id), {
      sign: forged((entity) => ({
        attributes: [...goodAttributes(entity), goodAttributes(entity)[2] ?? Buffer.alloc(0)],
      })),
    }),
  'digest attribute with two values': (id) =>
    seal(text(id), {
      sign: forged((entity) => ({
        attributes: [
          ...goodAttributes(entity).slice(0, 2),
          attribute(
            names.messageDigest,
            der.octetString(createHash('sha256').update('other').digest()),
            der.octetString(createHash('sha256').update(entity).digest()),
          ),
        ],
      })),
    }),
  MD5: (id) =>
    seal(text(id), { sign: forged(() => ({ digest: 'md5', digestAlgorithm: algorithm(names.md5) })) }),
  'SHA-1': (id) =>
    seal(text(id), { sign: forged(() => ({ digest: 'sha1', digestAlgorithm: algorithm(names.sha1) })) }),
  'SHA-1 that says SHA-256': (id) => seal(text(id), { sign: forged(() => ({ digest: 'sha1' })) }),
  'a changed signature': (id) =>
    seal(text(id), {
      sign: forged(() => ({
        changeSignature: (signature) => {
          signature[9] = (signature[9] ?? 0) ^ 1;
          return signature;
        },
      })),
    }),
  'an empty signature': (id) =>
    seal(text(id), { sign: forged(() => ({ changeSignature: () => Buffer.alloc(0) })) }),
  '17 signers': (id) => seal(text(id), { sign: forged(() => ({}), {}, 17) }),
  'content inside the detached signature': (id) =>
    seal(text(id), { sign: (entity) => forged(() => ({}), { content: Buffer.from('other') })(entity) }),
  'signed text changed': (id) =>
    seal(text(id), {
      sign: (entity) =>
        Buffer.from(signedBy(keys.eve)(entity).toString('latin1').replace('Hello.', 'HELLO.'), 'latin1'),
    }),
  'a part before the signed one': (id) =>
    seal(text(id), {
      sign: (entity) =>
        Buffer.from(
          signedBy(keys.eve)(entity)
            .toString('latin1')
            .replace(/(--=_signed_[0-9a-f]+)\r\n/, '$1\r\n\r\nunsigned\r\n$1\r\n'),
          'latin1',
        ),
    }),
  'not signed': (id) => seal(text(id), { sign: (entity) => entity as Buffer }),
  'not encrypted': (id) => seal(text(id), { encrypt: (content) => content }),
  'encrypted twice': (id) => seal(text(id), { sign: (entity) => encrypted(signedBy(keys.eve)(entity)) }),
  'encrypted to eve alone': (id) =>
    seal(text(id), { encrypt: (content) => encryptEntity(content, [{ certificate: keys.eve.certificate }]) }),
  '3DES': (id) =>
    seal(text(id), {
      encrypt: (content) =>
        cmsEntity(
          forgeEnvelope({
            content,
            certificate: ours,
            contentAlgorithm: (iv) => algorithm(names.tripleDes, der.octetString(iv.subarray(0, 8))),
          }),
          'application/pkcs7-mime; smime-type=enveloped-data',
        ),
    }),
  RC2: (id) =>
    seal(text(id), {
      encrypt: (content) =>
        cmsEntity(
          forgeEnvelope({
            content,
            certificate: ours,
            contentAlgorithm: (iv) => algorithm(names.rc2, der.octetString(iv.subarray(0, 8))),
          }),
          'application/pkcs7-mime; smime-type=enveloped-data',
        ),
    }),
  'no recipient info': (id) =>
    seal(text(id), {
      encrypt: (content) =>
        cmsEntity(
          forgeEnvelope({ content, certificate: ours, recipients: [] }),
          'application/pkcs7-mime; smime-type=enveloped-data',
        ),
    }),
  'a recipient of another domain': (id) => seal(text(id), { to: [victim] }),
  'an unknown recipient': (id) => seal(text(id), { to: [`nobody@${domains.own}`] }),
  'source route': (id) => seal(text(id), { to: [`@${domains.own}:${victim}`] }),
  'percent hack': (id) => seal(text(id), { to: [`dr%direct.victim.example@${domains.own}`] }),
  'too large': (id) => seal(Buffer.concat([text(id), Buffer.alloc(4_000_000, 'a\r\n')])),
};

test('nothing unwanted of a trusted peer is delivered', async (t) => {
  const control = randomUUID();
  assert.equal(await deliver(seal(text(control))), '', 'the control is accepted');
  const ids = new Map<string, string>();
  for (const [name, make] of Object.entries(unwanted)) {
    const id = randomUUID();
    ids.set(name, id);
    const reply = await deliver(make(id));
    t.diagnostic(`${name}: ${reply === '' ? 'accepted' : reply.slice(0, 90)}`);
  }
  const got = await delivered();
  assert.ok(
    got.some((one) => one.includes(control)),
    'the control is delivered',
  );
  const wrong = [...ids].filter(([, id]) => got.some((one) => one.includes(id))).map(([name]) => name);
  assert.deepEqual(wrong, []);
});

test('a message stays with those it was first sent to, however often and in whatever envelope it comes again', async (t) => {
  const id = randomUUID();
  const unwrapped = (inner: Uint8Array): Uint8Array => inner;
  const content = Buffer.from('Content-Type: text/plain\r\n\r\nHello.\r\n');
  const outerOf = (to: string, more = ''): string =>
    headers(id, { To: to, 'MIME-Version': undefined, 'Content-Type': undefined }) +
    `${more}MIME-Version: 1.0\r\n`;
  const signedContent = signedBy(keys.eve)(content);
  const again = (steps: Steps): Mail =>
    seal(content, { wrap: unwrapped, sign: () => signedContent, ...steps });
  await deliver(again({ outer: outerOf(demoAddress) }));
  assert.equal((await delivered()).filter((one) => one.includes(id)).length, 1);
  const variants: readonly Mail[] = [
    again({ outer: outerOf(demoAddress) }),
    again({ outer: outerOf(other), to: [other] }),
    again({ outer: outerOf(demoAddress), to: [other] }),
    again({ outer: outerOf(`${demoAddress}, ${other}`), to: [demoAddress, other] }),
    again({ outer: outerOf(demoAddress, `Cc: ${other}\r\n`), to: [other] }),
    again({ outer: outerOf(other).replace(id, randomUUID()), to: [other] }),
    again({ outer: outerOf(other, `Resent-To: ${other}\r\n`), to: [other] }),
    again({ outer: outerOf(demoAddress).replaceAll(eve, victim), from: victim }),
    again({ outer: outerOf(demoAddress).replaceAll(eve, `b@${eveDomain}`), from: `b@${eveDomain}` }),
    again({ outer: outerOf(other).replaceAll(eve, `b@${eveDomain}`), from: `b@${eveDomain}`, to: [other] }),
    again({
      wrap: unwrapped,
      outer: outerOf(other),
      to: [other],
      encrypt: (bytes) => encrypted(Buffer.concat([bytes, Buffer.from('\r\n')])),
    }),
  ];
  for (const [n, one] of variants.entries()) {
    const reply = await deliver(one);
    t.diagnostic(`${n} ${reply} ${(await delivered()).filter((each) => each.endsWith(other)).length}`);
  }
  assert.deepEqual(
    (await delivered()).filter((one) => one.endsWith(other)),
    [],
  );

  // Wrapped: the signed header names the recipient.
  const wrapped = randomUUID();
  const signed = signedBy(keys.eve)(wrapMessage(text(wrapped)));
  for (const to of [[demoAddress], [other], [demoAddress, other], [demoAddress]])
    await deliver(seal(text(wrapped), { sign: () => signed, to }));
  const same = seal(text(wrapped), { sign: () => signed });
  for (let count = 0; count < 3; count++) await deliver(same);
  assert.equal(
    (await delivered()).filter((one) => one.includes(wrapped) && one.endsWith(demoAddress)).length,
    1,
  );
});

test('no report of a peer changes the state of a message to another', async (t) => {
  const { client } = world;
  const to = [victim, eve];
  const messageId = await send(client, {
    fromDirectAddress: demoAddress,
    toDirectAddress: to,
    messageBody: 'for two',
    requestFinalDelivery: true,
  });
  const stateOf = async (address: string): Promise<string> =>
    (await readStatus(client, messageId)).result.find((one) => one.toDirectAddress === address)?.status ?? '';
  await waitFor(
    () => Promise.all(to.map(stateOf)),
    (states) => states.every((state) => state === 'sent'),
  );
  // On a loaded machine the sandbox's short window may be over.
  const untouched = /^(sent|expired)$/;
  const wireId = `<${messageId.replace('urn:uuid:', '')}@${domains.own}>`;
  const reportOf = (
    finalRecipient: string,
    disposition: 'processed' | 'dispatched' | 'failed',
    id = wireId,
  ): Buffer =>
    buildMdn({
      disposition,
      finalRecipient,
      originalSender: demoAddress,
      originalMessageId: id,
      reportingUa: { host: 'eve.example', product: 'x' },
      date: new Date(),
      messageId: `<${randomUUID()}@${eveDomain}>`,
    });
  const dsnOf = (recipient: string): Buffer =>
    buildDsn({
      from: `postmaster@${eveDomain}`,
      to: demoAddress,
      originalMessageId: wireId,
      reportingMta: 'mx.eve.example',
      date: new Date(),
      messageId: `<${randomUUID()}@${eveDomain}>`,
      recipients: [{ finalRecipient: recipient, action: 'failed', status: '5.1.1' }],
    } as never);
  const change = (bytes: Buffer, ...pairs: readonly (readonly [string | RegExp, string])[]): Buffer =>
    Buffer.from(
      pairs.reduce((textNow, [from, by]) => textNow.replace(from, by), bytes.toString('latin1')),
      'latin1',
    );
  const attempts: Mail[] = [];
  for (const disposition of ['processed', 'dispatched', 'failed'] as const) {
    const report = reportOf(victim, disposition);
    attempts.push(
      seal(report, { from: eve }),
      seal(report, { from: victim }),
      seal(change(report, [`From: ${victim}`, `From: ${eve}`])),
      seal(change(report, [`From: ${victim}`, `From: "${victim}" <${eve}>`])),
      seal(
        change(
          report,
          [`From: ${victim}`, `From: ${eve}`],
          [/Final-Recipient:[^\r]*/, `Final-Recipient: rfc822; ${victim}\r\nFinal-Recipient: rfc822; ${eve}`],
        ),
      ),
      seal(
        change(
          report,
          [`From: ${victim}`, `From: ${eve}`],
          [/Final-Recipient:[^\r]*/, `Original-Recipient: rfc822; ${victim}`],
        ),
      ),
      seal(
        change(
          report,
          [`From: ${victim}`, `From: ${eve}`],
          [/Final-Recipient:[^\r]*/, `Final-Recipient: rfc822; ${victim} (${eve})`],
        ),
      ),
      seal(change(report, [`From: ${victim}`, `From: ${eve}`], [wireId, wireId.toUpperCase()])),
      { from: eve, to: [demoAddress], message: report },
      { from: '', to: [demoAddress], message: report },
      seal(report, { from: eve, sign: signedBy(keys.address) }),
      seal(report, { from: victim, sign: signedBy(keys.self) }),
      seal(report, { from: victim, sign: (entity) => entity as Buffer }),
    );
  }
  attempts.push(
    seal(dsnOf(victim), { from: `postmaster@${eveDomain}` }),
    seal(dsnOf(victim), { from: victim }),
    seal(
      change(dsnOf(victim), [
        /Final-Recipient:[^\r]*/,
        `Final-Recipient: rfc822; ${eve}\r\nOriginal-Recipient: rfc822; ${victim}`,
      ]),
    ),
    { from: '', to: [demoAddress], message: dsnOf(victim) },
    { from: `postmaster@${eveDomain}`, to: [demoAddress], message: dsnOf(victim) },
    seal(reportOf(eve, 'processed', '<nothing@x.example>')),
    seal(reportOf(eve, 'processed', `${wireId} <other@x.example>`.replace('@', '@x.'))),
  );
  for (const [n, one] of attempts.entries()) t.diagnostic(`${n}: ${await deliver(one)}`);
  await delivered();
  assert.match(await stateOf(victim), untouched);
});
