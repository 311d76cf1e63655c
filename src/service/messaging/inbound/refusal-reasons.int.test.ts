/** What the operator is told about mail that the real agent rejects because of the sender's certificate. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { RefusedSignerError } from '../../../lib/direct/index.ts';
import { wrapMessage } from '../../../lib/mime/index.ts';
import { encryptEntity, signEntity } from '../../../lib/smime/index.ts';
import { PkiError, readCertificate, readPrivateKey, type Certificate } from '../../../lib/pki/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { addIssuedDomain, createIssuer, sealUnchecked } from '../../../../test/messaging/issued-domains.ts';
import {
  alice,
  anna,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { createAgent, type Agent } from '../../agent/index.ts';
import { mayKeepStrangers } from '../evidence/keep-certificates.ts';
import { inboundTextOf } from '../operator/inbound-texts.ts';
import { listInbound, showInbound } from '../operator/list-inbound.ts';
import type { MessagingTables } from '../tables.ts';

const hourMs = 3_600_000;

let world: TestMessaging;
let agent: Agent;
let ours: Certificate;
let strangerCa: Certificate;

const fromNow = (hours: number): Date => new Date(world.clock.now().getTime() + hours * hourMs);

const validFor = (hours: number) => ({ notBefore: fromNow(-1), notAfter: fromNow(hours) });

before(async () => {
  world = await startTestMessaging();
  const validity = validFor(1000);
  const trusted = await createIssuer('trusted', validity);
  const stranger = await createIssuer('stranger', validity);
  strangerCa = stranger.certificate;
  ours = await addIssuedDomain(world, 'direct.alpha.example', { issuer: trusted, ...validity });
  await addIssuedDomain(world, 'direct.expired.example', { issuer: trusted, ...validFor(1) });
  const revoked = await addIssuedDomain(world, 'direct.revoked.example', { issuer: trusted, ...validity });
  await addIssuedDomain(world, 'direct.partner.example', { issuer: trusted, ...validity });
  await addIssuedDomain(world, 'direct.stranger.example', { issuer: stranger, ...validity });
  await world.trust.addAnchor('direct.alpha.example', trusted.certificate.der, 'incoming');
  agent = createAgent({
    trust: world.trust,
    clock: world.clock,
    discovery: { discover: () => Promise.reject(new Error('not asked')) },
    fetchIssuers: async () => [],
    checkRevocation: async ({ certificate }) =>
      certificate.fingerprint === readCertificate(revoked.der).fingerprint
        ? { status: 'revoked', reason: 'keyCompromise' }
        : { status: 'good' },
    threads: 1,
  });
  world.setOpenIncoming((envelope, options) => agent.openIncoming(envelope, options));
});
after(async () => {
  await world.close();
  await agent.close();
});

describe('SEC-02: the reason of a rejection', () => {
  it('is what is wrong with the certificate of the sender, so that nobody adds an anchor for a revoked one', async () => {
    const sealed = new Map<string, Uint8Array>();
    for (const name of ['expired', 'revoked', 'stranger']) {
      const sender = parseDirectAddress(`nurse@direct.${name}.example`);
      const text = `From: ${sender}\r\nTo: ${alice}\r\nDate: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <${name}@x.example>\r\nMIME-Version: 1.0\r\n\r\nx\r\n`;
      const recipient = { address: alice, certificates: [ours.der] };
      sealed.set(sender, await agent.seal(sender, Buffer.from(text), [recipient]));
    }
    world.clock.advance(2 * hourMs);
    for (const [mailFrom, message] of sealed)
      await world.messaging.acceptInbound({ mailFrom, recipients: [alice], message }, '192.0.2.0/24');
    const rejected = await world.audit.find({ action: 'message.reject' });
    assert.deepEqual(
      rejected
        .map(({ objects }) => [
          objects['from'],
          objects['reason'],
          inboundTextOf(String(objects['reason'])).text,
        ])
        .toReversed(),
      [
        [
          'nurse@direct.expired.example',
          'PKI_EXPIRED',
          "The sender's certificate, or a CA certificate above it, is expired.",
        ],
        [
          'nurse@direct.revoked.example',
          'PKI_REVOKED',
          "The sender's certificate, or a CA certificate above it, is revoked.",
        ],
        [
          'nurse@direct.stranger.example',
          'PKI_ISSUER_NOT_FOUND',
          "The sender's certificate does not chain to an anchor of the recipient's domain.",
        ],
      ],
    );
  });

  it('keeps the certificates of the signer as far as the path went, and offers a CA only where an anchor helps', async () => {
    const db = world.storage.tables<MessagingTables>();
    const sender = parseDirectAddress('nurse@direct.stranger.example');
    const text = `From: ${sender}\r\nTo: ${alice}\r\nDate: ${world.clock.now().toUTCString()}\r\nMessage-ID: <with-ca@x.example>\r\n\r\nx\r\n`;
    const keys = (await world.trust.findSigningKeys(sender)).map(({ certificate, privateKey }) => ({
      certificate: readCertificate(certificate),
      privateKey: readPrivateKey(privateKey),
    }));
    const signed = signEntity(wrapMessage(Buffer.from(text)), keys, {
      at: world.clock.now(),
      extraCertificates: [strangerCa],
    });
    const message = encryptEntity(signed, [{ certificate: ours }]);
    await world.messaging.acceptInbound({ mailFrom: sender, recipients: [alice], message }, '192.0.2.0/24');
    const rejected = (await world.audit.find({ action: 'message.reject' })).toReversed();
    const shown = await Promise.all(
      rejected.map(async ({ sequence }) => {
        const mail = await showInbound(db, world.audit, String(sequence));
        assert.ok('kind' in mail && mail.signer !== undefined);
        return mail.signer;
      }),
    );
    assert.deepEqual(
      shown.map(({ path, authorities }) => [
        path.nodes.map(({ role, state, code }) => [role, state, code].join(' ').trim()),
        authorities.length,
      ]),
      [
        [['signer failed PKI_EXPIRED', 'anchor not-reached'], 0],
        [['signer failed PKI_REVOKED', 'anchor not-reached'], 0],
        [['signer ok', 'missing failed PKI_ISSUER_NOT_FOUND'], 0],
        [['signer ok', 'issuer failed PKI_ISSUER_NOT_FOUND'], 1],
      ],
    );
    const [own, ca] = shown.at(-1)?.path.nodes ?? [];
    assert.ok(own?.notAfter !== undefined && ca !== undefined);
    assert.match(own.fingerprint, /^[0-9a-f]{64}$/);
    assert.deepEqual(own.issuer, ca.subject);
    const [offered] = shown.at(-1)?.authorities ?? [];
    assert.equal(readCertificate(Buffer.from(offered?.pem ?? '')).fingerprint, ca.fingerprint);
  });

  it('keeps few certificates that strangers make for each mail, and names the signers of the others', async () => {
    const db = world.storage.tables<MessagingTables>();
    const countKept = async (): Promise<number> =>
      (await db.selectFrom('path_certificate').select('fingerprint').execute()).length;
    const before = await countKept();
    let made = 0;
    const fresh = () => ({ ...strangerCa, fingerprint: `${++made}`.padStart(64, '0') });
    world.setOpenIncoming(async () => {
      const certificate = fresh();
      const issuers = [fresh(), fresh(), fresh()];
      const failedAt = certificate.fingerprint;
      const signer = { certificate, issuers, anchor: undefined, failedAt };
      throw new RefusedSignerError('DIRECT_SENDER_UNTRUSTED', signer, {
        cause: new PkiError('PKI_ISSUER_NOT_FOUND', 'no issuer'),
      });
    });
    for (let mail = 0; mail < 30; mail++)
      await world.messaging.acceptInbound(
        {
          mailFrom: 'x@direct.stranger.example',
          recipients: [alice],
          message: Buffer.from('x'),
          remoteAddress: '198.51.100.7',
        },
        '198.51.100.0/24',
      );
    world.setOpenIncoming((envelope, options) => agent.openIncoming(envelope, options));
    assert.equal((await countKept()) - before, 20 * 2, 'the signer and one issuer, of a burst');
    const [last] = await world.audit.find({ action: 'message.reject' });
    const shown = await showInbound(db, world.audit, String(last?.sequence));
    assert.ok('kind' in shown);
    let others = 0;
    for (let network = 0; network < 100; network++)
      for (let mail = 0; mail < 20; mail++)
        if (mayKeepStrangers(world, [{ ...fresh(), der: strangerCa.der }], `10.0.${network}.7`)) others++;
    assert.ok(others > 960 && others <= 980, `${others} more of all networks together`);
    const [{ subject, issuer, notAfter } = {}] = shown.signer?.path.nodes ?? [];
    assert.deepEqual(
      [subject, issuer, notAfter],
      [strangerCa.subject, strangerCa.issuer, strangerCa.notAfter],
    );
  });

  it('answers a trusted sender whose header cannot be accepted, and nobody else', async () => {
    const at = world.clock.now().toUTCString().replace('GMT', '+0000');
    const seal = async (name: string, from: string, to = `To: ${alice}\r\n`) => {
      const sender = parseDirectAddress(`nurse@direct.${name}.example`);
      const text = `${from}\r\n${to}Date: ${at}\r\nMessage-ID: <${from.length}@x.example>\r\nMIME-Version: 1.0\r\n\r\nx\r\n`;
      const message = await sealUnchecked(world, sender, Buffer.from(text), ours);
      return { mailFrom: sender, recipients: [alice], message };
    };
    const answered = async (mail: { mailFrom: string; recipients: string[]; message: Uint8Array }) => {
      const before = (await world.audit.find({ action: 'dsn.failed' })).length;
      await world.messaging.acceptInbound(mail, '192.0.2.0/24');
      const [last] = await world.audit.find({ action: 'message.reject' });
      return [last?.objects['reason'], (await world.audit.find({ action: 'dsn.failed' })).length - before];
    };
    const two = 'From: nurse@direct.partner.example, other@direct.partner.example';
    const ambiguous = await seal('partner', two);
    assert.deepEqual(await answered(ambiguous), ['DIRECT_SENDER_AMBIGUOUS', 1]);
    // As any duplicate, once an hour.
    assert.deepEqual(await answered(ambiguous), ['DIRECT_SENDER_AMBIGUOUS', 1]);
    assert.deepEqual(await answered(ambiguous), ['DIRECT_SENDER_AMBIGUOUS', 0]);
    assert.deepEqual(await answered(await seal('partner', 'From: nurse@direct.partner.example', '')), [
      'DIRECT_NO_RECIPIENTS',
      1,
    ]);
    assert.deepEqual(await answered(await seal('stranger', two)), ['DIRECT_SENDER_AMBIGUOUS', 0]);
    const claimed = { ...(await seal('stranger', two)), mailFrom: 'nurse@direct.partner.example' };
    assert.deepEqual(await answered(claimed), ['DIRECT_SENDER_AMBIGUOUS', 0]);
  });

  it('answers a trusted sender whose message does not fit its envelope, but of a copy of what has arrived nobody', async () => {
    const sender = parseDirectAddress('nurse@direct.partner.example');
    const keys = (await world.trust.findSigningKeys(sender)).map(({ certificate, privateKey }) => ({
      certificate: readCertificate(certificate),
      privateKey: readPrivateKey(privateKey),
    }));
    const seal = (id: string, isWrapped = true) => {
      const head = `From: ${sender}\r\nTo: ${alice}\r\nDate: ${world.clock.now().toUTCString()}\r\nMessage-ID: <${id}@x.example>\r\n`;
      const text = Buffer.from(`${isWrapped ? head : ''}Content-Type: text/plain\r\n\r\n${id}\r\n`);
      const signed = signEntity(isWrapped ? wrapMessage(text) : text, keys, { at: world.clock.now() });
      return Buffer.concat([Buffer.from(head), encryptEntity(signed, [{ certificate: ours }])]);
    };
    const send = async (message: Uint8Array, mailFrom: string, ...recipients: string[]) => {
      const count = async () => (await world.audit.find({ action: 'dsn.failed' })).length;
      const before = await count();
      await world.messaging.acceptInbound({ mailFrom, recipients, message }, '192.0.2.0/24');
      const [last] = await world.audit.find({ action: 'message.reject' });
      return [last?.objects['reason'], last?.objects['detail'], (await count()) - before];
    };
    const other = 'other@direct.partner.example';
    const words = [
      'MAIL FROM is neither From nor Sender of the message',
      'a recipient that is neither in To nor in Cc of the message',
    ];
    const [fromFault, toFault] = ['DIRECT_ENVELOPE_SENDER_MISMATCH', 'DIRECT_ENVELOPE_RECIPIENT_MISMATCH'];
    assert.deepEqual(await send(seal('e1'), other, alice), [fromFault, words[0], 1]);
    assert.deepEqual(await send(seal('e2'), sender, anna), [toFault, words[1], 1]);
    // An empty return path is never answered, and neither is a header that anybody can change.
    assert.deepEqual(await send(seal('e3'), '', alice), [fromFault, words[0], 0]);
    assert.deepEqual(await send(seal('e4', false), other, alice), [fromFault, words[0], 0]);
    const copied = seal('e5');
    await send(copied, sender, alice);
    assert.deepEqual(await send(copied, other, alice), [fromFault, words[0], 0]);
  });

  it('is the exact finding about signature and envelope, in the audit trail, the log and the list of the operator', async () => {
    const sender = parseDirectAddress('nurse@direct.stranger.example');
    const text = `From: ${sender}\r\nTo: ${alice}\r\nDate: ${world.clock.now().toUTCString()}\r\nMessage-ID: <d@x.example>\r\nMIME-Version: 1.0\r\n\r\nx\r\n`;
    const [material] = await world.trust.findDecryptionKeys([alice]);
    assert.ok(material !== undefined);
    const key = {
      certificate: readCertificate(material.certificate),
      privateKey: createPrivateKey({ key: Buffer.from(material.privateKey), format: 'der', type: 'pkcs8' }),
    };
    const signed = signEntity(wrapMessage(Buffer.from(text)), [key], { at: world.clock.now() });
    const forged = Buffer.from(signed.toString('latin1').replace('\r\n\r\nx\r\n', '\r\n\r\ny\r\n'), 'latin1');
    assert.notDeepEqual(forged, signed);
    const seal = (entity: Buffer) =>
      Buffer.concat([
        Buffer.from(`From: ${sender}\r\nTo: ${alice}\r\nMIME-Version: 1.0\r\n`),
        encryptEntity(entity, [key]),
      ]);
    const whole = seal(signed).toString('latin1');
    const [head = '', body = ''] = whole.split('\r\n\r\n');
    const asPart = whole.slice(whole.indexOf('Content-Type:'));
    const cases: readonly (readonly [reason: string, message: string, words: RegExp])[] = [
      ['SMIME_DIGEST_MISMATCH', seal(forged).toString('latin1'), /changed after it was signed/],
      ['SMIME_CMS_MALFORMED', `${head}\r\n\r\n${body.slice(0, body.length / 2)}`, /cut or damaged/],
      [
        'SMIME_PARTLY_ENCRYPTED',
        `From: ${sender}\r\nTo: ${alice}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${asPart}\r\n--b\r\n\r\nscanned\r\n--b--\r\n`,
        /another part that is not encrypted/,
      ],
      [
        'SMIME_NOT_SIGNED',
        seal(Buffer.from(`Content-Type: text/plain\r\n\r\n${text}`)).toString('latin1'),
        /signature is missing/,
      ],
    ];
    for (const [reason, message, words] of cases) {
      await world.messaging.acceptInbound(
        { mailFrom: sender, recipients: [alice], message: Buffer.from(message, 'latin1') },
        '192.0.2.0/24',
      );
      const [row] = await world.audit.find({ action: 'message.reject' });
      assert.equal(row?.objects['reason'], reason);
      assert.match(String(row?.objects['detail']), /^[ -~]{3,200}$/);
      assert.match(inboundTextOf(reason).text, words);
      assert.ok(
        world.logLines.some((line) => line.includes(reason) && line.includes('"detail"')),
        reason,
      );
      const [entry] = (await listInbound(world.audit, { limit: 1 })).items;
      assert.deepEqual([entry?.reason, entry?.detail], [reason, row?.objects['detail']]);
    }
  });
});

describe('VER-02: whoever sees an unwrapped message on its way', () => {
  it('cannot have it delivered to another address by its header', async () => {
    const nurse = parseDirectAddress('nurse@direct.vintage.example');
    const validity = validFor(1000);
    const issuer = await createIssuer('vintage', validity);
    await addIssuedDomain(world, 'direct.vintage.example', { issuer, ...validity });
    await world.trust.addAnchor('direct.alpha.example', issuer.certificate.der, 'incoming');
    const keys = (await world.trust.findSigningKeys(nurse)).map(({ certificate, privateKey }) => ({
      certificate: readCertificate(certificate),
      privateKey: readPrivateKey(privateKey),
    }));
    const document = 'Content-Type: text/plain\r\n\r\nFor Alice only.\r\n';
    const signed = signEntity(Buffer.from(document), keys, { at: world.clock.now() });
    const sealed = encryptEntity(signed, [{ certificate: ours }]);
    const under = (to: string): Buffer =>
      Buffer.concat([
        Buffer.from(
          `From: ${nurse}\r\nTo: ${to}\r\nDate: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <${to}>\r\nMIME-Version: 1.0\r\n`,
        ),
        sealed,
      ]);
    const send = (to: DirectAddress) =>
      world.messaging.acceptInbound(
        { mailFrom: nurse, recipients: [to], message: under(to) },
        '192.0.2.0/24',
      );
    const readers = async (): Promise<string[]> => {
      const { messages } = await world.messaging.listInbox(world.clinic, {});
      return messages.map(({ recipient }) => recipient);
    };
    const before = await readers();
    await send(alice);
    await send(anna);
    assert.deepEqual(await readers(), [...before, alice]);
    const [refused] = await world.audit.find({ action: 'message.reject' });
    assert.deepEqual([refused?.objects['to'], refused?.objects['reason']], [anna, 'recipients-changed']);
    assert.match(inboundTextOf('recipients-changed').text, /header is not signed/);
  });
});
