/** Sealed messages: form of the outer and the inner message, and messages refused before they are sent (AS-30 to AS-45). */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  createAgentJobRunner,
  DirectError,
  openMessage,
  sealMessage,
  type SealRequest,
} from '../../src/lib/direct/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { createKeyPair } from '../../src/lib/pki/index.ts';
import { decryptEntity } from '../../src/lib/smime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { refusedWith } from './support/refusals.ts';
import {
  createMessageWorld,
  plainHeader,
  plainMessage,
  receive,
  signerOf,
  type MessageWorld,
} from './support/test-messages.ts';
import { alice, at, bob, createTestPki, future, past } from './support/test-pki.ts';

const carol = parseDirectAddress('carol@direct.beta.example');

describe('sealing', () => {
  let world: MessageWorld;
  before(async () => {
    world = createMessageWorld(await createTestPki());
  });

  const request = (changes: Partial<SealRequest> = {}): SealRequest => ({
    message: plainMessage(),
    signers: [world.signer],
    recipients: [{ address: bob, certificates: [world.recipient.certificate] }],
    at,
    ...changes,
  });

  test('AS-30 sealed, opened and verified: the same bytes inside', async () => {
    const { message, sender, recipients } = sealMessage(request());
    assert.deepEqual([sender, recipients], [alice, [bob]]);
    const opened = openMessage({ message, keys: [world.recipient] });
    assert.deepEqual(Buffer.from(opened.inner), plainMessage());
    assert.equal(opened.wasWrapped, true);
    assert.equal((await receive(world, message)).sender, alice);
  });

  test('AS-31, AS-35 the outer header routes and threads, and reveals nothing else', () => {
    const header = [
      ...plainHeader,
      'Cc: "Carol about John Doe" <carol@direct.beta.example>',
      'In-Reply-To: <m0@direct.beta.example>',
      'References: <m0@direct.beta.example>',
      'Disposition-Notification-To: alice@direct.alpha.example',
      'X-Patient: John Doe',
    ];
    const certificate = world.pki.issue({ rfc822Names: [carol] });
    const recipients = [...request().recipients, { address: carol, certificates: [certificate] }];
    const { message } = sealMessage(request({ message: plainMessage(header), recipients }));
    const outer = parseEntity(message);
    assert.deepEqual(
      outer.headerFields.map(({ name, value }) => `${name}: ${value}`),
      [
        'MIME-Version: 1.0',
        'From: alice@direct.alpha.example',
        'To: bob@direct.beta.example',
        'Cc: carol@direct.beta.example',
        'Date: Mon, 15 Jun 2026 12:00:00 +0000',
        'Message-ID: <m1@direct.alpha.example>',
        'In-Reply-To: <m0@direct.beta.example>',
        'References: <m0@direct.beta.example>',
        'Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m',
        'Content-Transfer-Encoding: base64',
        'Content-Disposition: attachment; filename=smime.p7m',
      ],
    );
    assert.doesNotMatch(Buffer.from(message).toString('latin1'), /patient|John|Carol/);
    assert.match(Buffer.from(message).toString('latin1'), /^[\r\n\x20-\x7e]*$/);
  });

  test('AS-31 every line ends with CRLF, whatever the message holds; none is long or starts with a dot', () => {
    const body = `${'.'.repeat(40_000)}\n.\r.\r\n.\n`;
    const header = [...plainHeader, `References: ${'<a.b@direct.beta.example> '.repeat(200)}`];
    for (const message of [plainMessage(), plainMessage(plainHeader, body), plainMessage(header, body)])
      assert.match(
        Buffer.from(sealMessage(request({ message })).message).toString('latin1'),
        /^(?:(?!\.)[^\r\n]{0,998}\r\n)+$/,
      );
  });

  test('AS-32, AS-34 inside: multipart/signed of a wrapped message with all its header fields', () => {
    const { content } = decryptEntity(sealMessage(request()).message, [world.recipient]);
    const signed = parseEntity(content);
    assert.equal(signed.contentType.mediaType, 'multipart/signed');
    assert.equal(signed.contentType.parameters.get('micalg'), 'sha-256');
    assert.equal(signed.contentType.parameters.get('protocol'), 'application/pkcs7-signature');
    assert.deepEqual(
      signed.parts.map((part) => part.contentType.mediaType),
      ['message/rfc822', 'application/pkcs7-signature'],
    );
    assert.deepEqual(Buffer.from(signed.parts[0]?.bodyBytes ?? []), plainMessage());
  });

  test('AS-41, AS-43 one envelope, a recipient info for each certificate', () => {
    const certificates = [world.recipient.certificate, world.pki.issue({ rfc822Names: [bob] })];
    const { message } = sealMessage(request({ recipients: [{ address: bob, certificates }] }));
    for (const certificate of certificates) {
      const opened = openMessage({
        message,
        keys: [{ certificate, privateKey: world.pki.rsaKeys.privateKey }],
      });
      assert.equal(opened.decryptedBy, certificate.fingerprint);
    }
  });

  test('AS-42 recipients that are left out leave the outer header and stay in the inner one', () => {
    const header = plainHeader.map((line) => (line.startsWith('To:') ? `To: ${bob}, ${carol}` : line));
    const { message, recipients } = sealMessage(request({ message: plainMessage(header) }));
    assert.deepEqual(recipients, [bob]);
    assert.equal(parseEntity(message).header('to'), bob);
    const opened = openMessage({ message, keys: [world.recipient] });
    assert.equal(parseEntity(opened.inner).header('to'), `${bob}, ${carol}`);
  });

  const injected: readonly { title: string; field: string }[] = [
    { title: 'a Sender behind a bare CR', field: `Keywords: s\rSender: ceo@direct.alpha.example` },
    { title: 'a second From behind a bare CR', field: `Keywords: s\rFrom: ceo@direct.alpha.example` },
    { title: 'a Bcc behind a bare CR', field: 'Keywords: s\rBcc: dan@direct.alpha.example' },
    { title: 'a header that two bare CR end early', field: 'Keywords: s\r\rX-Hidden: t' },
    { title: 'a Sender behind a bare LF', field: `Keywords: s\nSender: ${alice}` },
  ];
  for (const { title, field } of injected) {
    test(`AS-38, AS-79 ${title} is refused, not sealed as another field`, async () => {
      const message = plainMessage([...plainHeader, field]);
      await refusedWith('DIRECT_MESSAGE_MALFORMED', () => sealMessage(request({ message })));
    });
  }

  test('AS-33 a message with bare LF throughout is sealed with CRLF, and the checked bytes are the signed ones', () => {
    const message = Buffer.from(plainMessage().toString().replaceAll('\r\n', '\n'));
    const sealed = sealMessage(request({ message }));
    const opened = openMessage({ message: sealed.message, keys: [world.recipient] });
    assert.deepEqual(Buffer.from(opened.inner), plainMessage());
    assert.equal(sealed.sender, alice);
  });

  test('AS-33 a bare CR in the body becomes a line end, and the resulting line is checked', () => {
    const { message } = sealMessage(request({ message: plainMessage(plainHeader, 'a\rb\r\n') }));
    const opened = openMessage({ message, keys: [world.recipient] });
    assert.deepEqual(Buffer.from(opened.inner), plainMessage(plainHeader, 'a\r\nb\r\n'));
  });

  const part = (type: string, encoding: string, body: string): string =>
    `--b\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n--b--\r\n`;
  const mixed = (body: string): Buffer =>
    plainMessage(
      plainHeader.map((line) =>
        line.startsWith('Content-Type') ? 'Content-Type: multipart/mixed; boundary=b' : line,
      ),
      body,
    );
  const attached = (body: string): string =>
    part(
      'message/rfc822',
      'binary',
      mixed(body).toString('latin1').replaceAll('boundary=b', 'boundary=c').replaceAll('--b', '--c'),
    );
  const damaged: readonly { title: string; body: string }[] = [
    { title: 'LF', body: part('application/octet-stream', 'binary', 'a\nb') },
    { title: 'CR', body: part('image/png', 'BINARY', 'a\rb') },
    { title: 'CR, inside an attached message', body: attached(part('application/pdf', 'binary', 'a\rb')) },
    { title: 'LF and NUL, although labelled 8bit', body: part('application/pdf', '8bit', 'a\nb\0') },
  ];
  for (const { title, body } of damaged) {
    test(`AS-33 a binary part with bare ${title} is refused, not changed: DIRECT_BINARY_PART`, async () => {
      await refusedWith('DIRECT_BINARY_PART', () => sealMessage(request({ message: mixed(body) })));
    });
  }

  for (const body of [
    part('application/octet-stream', 'binary', 'a\r\nb\0\u0001'),
    part('application/octet-stream', 'base64', 'YQpi'),
  ]) {
    test(`AS-33 ${body.includes('base64') ? 'base64' : 'a binary part without bare line ends'} is sealed as it is`, () => {
      const { message } = sealMessage(request({ message: mixed(body) }));
      const opened = openMessage({ message, keys: [world.recipient] });
      assert.deepEqual(Buffer.from(opened.inner), mixed(body));
    });
  }

  test('AS-33 bare line ends in text, and next to base64, are put right', () => {
    const body = part('text/plain', 'binary', 'a\nb') + 'x\n';
    const { message } = sealMessage(request({ message: mixed(body) }));
    const opened = openMessage({ message, keys: [world.recipient] });
    assert.deepEqual(
      Buffer.from(opened.inner).toString(),
      mixed(body).toString().replace('a\nb', 'a\r\nb').replace('x\n', 'x\r\n'),
    );
  });

  for (const { title, changes, reason } of [
    { title: 'expired', changes: { notAfter: past(1) }, reason: 'PKI_EXPIRED' },
    { title: 'not yet valid', changes: { notBefore: future(1) }, reason: 'PKI_NOT_YET_VALID' },
  ]) {
    test(`AS-15 never signs with a certificate that is ${title}: ${reason}`, async () => {
      const old = signerOf(world.pki, changes);
      const error = await refusedWith('DIRECT_SENDER_CERTIFICATE_UNUSABLE', () =>
        sealMessage(request({ signers: [old] })),
      );
      assert.ok(error instanceof DirectError);
      assert.equal(error.reason, reason);
      const { message } = sealMessage(request({ signers: [old, world.signer] }));
      const { signers } = openMessage({ message, keys: [world.recipient] });
      assert.deepEqual(
        signers.map((signer) => signer.outcome === 'valid' && Buffer.from(signer.certificate)),
        [world.signer.certificate.der],
      );
    });
  }

  test('AS-44 no recipient info for the sender', () => {
    const { recipients } = decryptEntity(sealMessage(request()).message, [world.recipient]);
    assert.equal(recipients.length, 1);
  });

  test('AS-57 the key transport of one recipient can be an older one', () => {
    const transports = ['oaep-sha1', 'pkcs1'] as const;
    for (const keyTransport of transports) {
      const recipients = [{ address: bob, certificates: [world.recipient.certificate], keyTransport }];
      const opened = openMessage({
        message: sealMessage(request({ recipients })).message,
        keys: [world.recipient],
      });
      assert.equal(opened.algorithms.keyTransport, keyTransport);
    }
  });

  const refused: readonly { title: string; code: string; change: () => Partial<SealRequest> }[] = [
    {
      title: 'AS-42 no recipient left',
      code: 'DIRECT_NO_TRUSTED_RECIPIENTS',
      change: () => ({ recipients: [] }),
    },
    {
      title: 'AS-42 a recipient without certificate',
      code: 'DIRECT_NO_TRUSTED_RECIPIENTS',
      change: () => ({ recipients: [{ address: bob, certificates: [] }] }),
    },
    {
      title: 'AS-10 a certificate of somebody else',
      code: 'DIRECT_NO_TRUSTED_RECIPIENTS',
      change: () => ({ recipients: [{ address: bob, certificates: [world.signer.certificate] }] }),
    },
    {
      title: 'AS-39 a recipient that the message does not name',
      code: 'DIRECT_RECIPIENT_NOT_VISIBLE',
      change: () => ({
        recipients: [{ address: carol, certificates: [world.pki.issue({ rfc822Names: [carol] })] }],
      }),
    },
    { title: 'AS-71 no signer', code: 'DIRECT_SENDER_CERTIFICATE_UNUSABLE', change: () => ({ signers: [] }) },
    {
      title: 'AS-10 a signer that is not the sender',
      code: 'DIRECT_SENDER_CERTIFICATE_UNUSABLE',
      change: () => ({ signers: [signerOf(world.pki, { rfc822Names: ['x@direct.alpha.example'] })] }),
    },
    {
      title: 'AS-38 a blind copy',
      code: 'DIRECT_BLIND_COPY',
      change: () => ({ message: plainMessage([...plainHeader, 'Bcc: carol@direct.beta.example']) }),
    },
    {
      title: 'AS-38 a blind copy of a message sent again',
      code: 'DIRECT_BLIND_COPY',
      change: () => ({ message: plainMessage([...plainHeader, 'Resent-Bcc: carol@direct.beta.example']) }),
    },
    {
      title: 'AS-36 a To that is no list of addresses',
      code: 'DIRECT_MESSAGE_MALFORMED',
      change: () => ({
        message: plainMessage(
          plainHeader.map((line) => (line.startsWith('To:') ? `${line} <${carol}>` : line)),
        ),
      }),
    },
    ...['Date', 'Message-ID', 'MIME-Version'].map((name) => ({
      title: `AS-36 no ${name}`,
      code: 'DIRECT_HEADER_MISSING',
      change: () => ({ message: plainMessage(plainHeader.filter((line) => !line.startsWith(name))) }),
    })),
    {
      title: 'AS-36 no From',
      code: 'DIRECT_NO_SENDER',
      change: () => ({ message: plainMessage(plainHeader.filter((line) => !line.startsWith('From'))) }),
    },
    {
      title: 'AS-36 no To',
      code: 'DIRECT_NO_RECIPIENTS',
      change: () => ({ message: plainMessage(plainHeader.filter((line) => !line.startsWith('To'))) }),
    },
    {
      title: 'AS-50 a private key that is not of the certificate',
      code: 'DIRECT_SEAL_FAILED',
      change: () => ({ signers: [{ ...world.signer, privateKey: world.pki.ecKeys.privateKey }] }),
    },
    {
      title: 'AS-33 a header that cannot stand in a mail',
      code: 'DIRECT_MESSAGE_MALFORMED',
      change: () => ({ message: plainMessage([...plainHeader, `X-Long: ${'x'.repeat(70_000)}`]) }),
    },
  ];
  for (const { title, code, change } of refused) {
    test(`${title}: ${code}`, async () => {
      await refusedWith(code, () => sealMessage(request(change())));
    });
  }

  test('AS-14 an RSA key of 1024 bits neither signs nor receives', async () => {
    const weak = await createKeyPair({ keyBits: 1024 });
    const signer = {
      certificate: world.pki.issue({ publicKey: weak.publicKey }),
      privateKey: weak.privateKey,
    };
    const signing = await refusedWith('DIRECT_SEAL_FAILED', () =>
      sealMessage(request({ signers: [signer] })),
    );
    assert.match(String(signing.cause), /key/i);
    const certificates = [world.pki.issue({ publicKey: weak.publicKey, rfc822Names: [bob] })];
    await refusedWith('DIRECT_SEAL_FAILED', () =>
      sealMessage(request({ recipients: [{ address: bob, certificates }] })),
    );
  });

  test('AS-30 the thread half does the same on plain data', () => {
    const runner = createAgentJobRunner();
    const keyBytes = ({ certificate, privateKey }: typeof world.signer) => ({
      certificate: certificate.der,
      privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }),
    });
    const { message } = runner.seal(
      structuredClone({
        kind: 'seal' as const,
        message: plainMessage(),
        signers: [keyBytes(world.signer)],
        recipients: [{ address: bob, certificates: [world.recipient.certificate.der] }],
        atMs: at.getTime(),
      }),
    );
    const opened = structuredClone(runner.open({ kind: 'open', message, keys: [keyBytes(world.recipient)] }));
    assert.deepEqual(Buffer.from(opened.inner), plainMessage());
  });
});
