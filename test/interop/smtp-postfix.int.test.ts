/** Mail between two of our endpoints through a real Postfix: what arrives, octet by octet, and what is said on the way. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openMessage, sealMessage } from '../../src/lib/direct/index.ts';
import { buildMessage, canonicalize, collectParts, parseEntity } from '../../src/lib/mime/index.ts';
import type { Certificate } from '../../src/lib/pki/index.ts';
import {
  createSmtpClient,
  createSmtpServer,
  type SmtpClient,
  type SmtpMessage,
  type SmtpServer,
} from '../../src/lib/smtp/index.ts';
import { alice, at, bob, createTestPki, type TestPki } from '../direct/support/test-pki.ts';
import type { RunningServer } from '../support/named.ts';
import { startPostfix } from '../support/postfix.ts';
import {
  createTemporaryFolder,
  needsRootAndPrograms,
  runProgram,
  waitUntil,
  type TemporaryFolder,
} from '../support/processes.ts';

describe('mail through Postfix', needsRootAndPrograms('postfix', 'openssl'), () => {
  let pki: TestPki;
  let bobCertificate: Certificate;
  let folder: TemporaryFolder;
  let server: SmtpServer;
  let postfix: RunningServer;
  let client: SmtpClient;
  const received: SmtpMessage[] = [];

  before(async () => {
    pki = await createTestPki();
    bobCertificate = pki.issue({ rfc822Names: [bob] });
    folder = await createTemporaryFolder('mail');
    const pem = path.join(folder.path, 'tls.pem');
    const request = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=relay.example.net',
    ];
    const made = await runProgram('openssl', [...request, '-keyout', '-']);
    await writeFile(pem, made.stdout);
    server = await createSmtpServer({
      host: '127.0.0.1',
      port: 0,
      hostname: 'mx.direct.beta.example',
      tls: { key: made.stdout, cert: made.stdout },
      handlers: {
        onRecipient: async (address) =>
          address.startsWith('nobody')
            ? { code: 550, enhancedCode: '5.1.1', text: 'No such mailbox' }
            : 'accept',
        onMessage: async (message) => void received.push(message),
      },
    });
    postfix = await startPostfix({
      relayPort: server.port,
      settings: [
        `smtpd_tls_cert_file = ${pem}`,
        `smtpd_tls_key_file = ${pem}`,
        'smtpd_tls_security_level = may',
        'smtp_tls_security_level = may',
        'smtpd_tls_loglevel = 1',
        'smtp_tls_loglevel = 1',
        'smtp_destination_recipient_limit = 1000',
        'smtpd_recipient_restrictions = check_recipient_access inline:{ { blocked@direct.beta.example = REJECT 5.7.1 not here } { later@direct.beta.example = DEFER 4.7.1 not now } }, permit_mynetworks, reject',
      ],
    });
    client = createSmtpClient({ hostname: 'out.direct.alpha.example' });
  });

  after(async () => {
    await client?.close();
    await postfix?.stop();
    await server?.close();
    await folder?.remove();
  });

  /** Sends through Postfix and waits for what comes out. */
  async function pass(
    message: Uint8Array,
    recipients: readonly string[] = [bob],
    mailFrom: string = alice,
  ): Promise<SmtpMessage> {
    const count = received.length;
    const outcome = await client.send({
      host: '127.0.0.1',
      port: postfix.port,
      mailFrom,
      recipients,
      message,
    });
    assert.deepEqual([outcome.accepted, outcome.rejected], [recipients, []]);
    await waitUntil(() => received.length > count, {
      timeoutMs: 30_000,
      what: `the message:\n${postfix.output().slice(-2_000)}`,
    });
    return received.at(-1) as SmtpMessage;
  }

  function seal(message: Uint8Array): Uint8Array {
    const certificate = pki.issue();
    return sealMessage({
      message,
      signers: [{ certificate, privateKey: pki.rsaKeys.privateKey }],
      recipients: [{ address: bob, certificates: [bobCertificate] }],
      at,
    }).message;
  }

  function open(message: Uint8Array): Buffer {
    const key = { certificate: bobCertificate, privateKey: pki.rsaKeys.privateKey };
    return Buffer.from(openMessage({ message, keys: [key] }).inner);
  }

  const head = `From: ${alice}\r\nTo: ${bob}\r\nDate: Mon, 15 Jun 2026 12:00:00 +0000\r\nMessage-ID: <1@direct.alpha.example>\r\nMIME-Version: 1.0\r\nSubject: secret\r\n`;
  const plain = (body: string): Buffer =>
    Buffer.from(
      `${head}Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${body}`,
      'latin1',
    );

  const bodies: Readonly<Record<string, string>> = {
    '8-bit': 'Gr\xc3\xbc\xc3\x9fe \xff\xfe\r\n',
    'lines of 998 and of 5,000 octets': `${'a'.repeat(998)}\r\n${'b'.repeat(5_000)}\r\n`,
    'no last line end': 'last line',
    'no body': '',
    'dots at the start of lines': '.\r\n..\r\n.x\r\n\r\n.\r\n',
    'trailing blanks': 'a  \r\n\t\r\n \r\n',
    'From at the start of a line': 'From somebody\r\n',
    'NUL and other control characters': 'a\0b\x01\x7f\x1a\r\n',
    'empty lines at the end': 'x\r\n\r\n\r\n',
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`AS-33: a sealed message arrives octet by octet: ${name}`, async () => {
      const message = plain(body);
      const out = await pass(seal(message));
      assert.deepEqual(open(out.message), message);
      assert.doesNotMatch(Buffer.from(out.message).toString('latin1'), /secret/);
    });
  }

  test('AS-33: bare LF in a sealed message arrives as CRLF, and nothing else is changed', async () => {
    const message = plain('one\ntwo\r\nthree\n\n');
    assert.deepEqual(open((await pass(seal(message))).message), canonicalize(message));
  });

  test('attachments with CRLF, LF, CR, NUL and every octet arrive as they are', async () => {
    const contents = [
      Buffer.from('<a>\n<b/>\r\n</a>'),
      Buffer.from(Array.from({ length: 512 }, (_, index) => index & 0xff)),
      Buffer.from('\r\r\n\n\0'),
      Buffer.alloc(0),
    ];
    const message = buildMessage({
      from: { address: alice },
      to: [{ address: bob }],
      date: at,
      messageId: '<2@direct.alpha.example>',
      subject: 'secret',
      text: 'see attached',
      attachments: contents.map((content, index) => ({
        mediaType: 'application/octet-stream',
        fileName: `${index}.bin`,
        content,
      })),
    });
    const inner = open((await pass(seal(message))).message);
    const parts = collectParts(parseEntity(inner)).filter((part) => part.fileName !== undefined);
    assert.deepEqual(
      parts.map((part) => Buffer.from(part.content())),
      contents,
    );
  });

  test('an unsealed body arrives as it is, as long as its lines are within 998 octets', async () => {
    const body = Buffer.from(`.dot\r\n\xc3\xbc\xff\r\n${'x'.repeat(998)}\r\n..\r\n \r\nend\r\n`, 'latin1');
    const out = await pass(Buffer.concat([Buffer.from(`${head}\r\n`), body]));
    const bytes = Buffer.from(out.message);
    assert.deepEqual(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4), body);
  });

  test('EDGE-06: the connections on both sides are encrypted when they can be', async () => {
    const out = await pass(plain('x\r\n'));
    assert.equal(out.isSecure, true);
    assert.match(postfix.output(), /smtpd\[\d+\]: Anonymous TLS connection established from/);
  });

  test('envelope: several recipients, unusual addresses, case kept', async () => {
    const recipients = ["O'Brien+tag=x@direct.beta.example", 'Bob@Direct.Beta.Example'];
    const out = await pass(plain('x\r\n'), recipients, 'Alice.B@direct.alpha.example');
    assert.equal(out.mailFrom, 'Alice.B@direct.alpha.example');
    assert.deepEqual(out.recipients.toSorted(), recipients.toSorted());
  });

  test('EDGE-08: of more recipients than we take at once, Postfix delivers to those that we take', async () => {
    const recipients = Array.from({ length: 560 }, (_, n) => `user${n}@direct.beta.example`);
    const out = await pass(plain('x\r\n'), recipients);
    assert.equal(out.recipients.length, 500);
  });

  test('EDGE-09: Postfix returns mail that our server refuses to the sender with a null return path', async () => {
    const out = await pass(plain('x\r\n'), ['nobody@direct.beta.example']);
    assert.deepEqual([out.mailFrom, out.recipients], ['', [alice]]);
    assert.match(Buffer.from(out.message).toString('latin1'), /Status: 5\.1\.1[^]*No such mailbox/);
  });

  test('EDGE-07: recipients that Postfix refuses have its reply; its size limit is known before the data', async () => {
    const send = (recipients: readonly string[], message: Uint8Array) =>
      client.send({ host: '127.0.0.1', port: postfix.port, mailFrom: alice, recipients, message });
    const count = received.length;
    const mixed = await send(
      [bob, 'blocked@direct.beta.example', 'later@direct.beta.example'],
      plain('x\r\n'),
    );
    assert.deepEqual(mixed.accepted, [bob]);
    await waitUntil(() => received.length > count, { what: 'the accepted one' });
    assert.deepEqual(
      mixed.rejected.map(({ code, enhancedCode, isTransient }) => [code, enhancedCode, isTransient]),
      [
        [554, '5.7.1', false],
        [450, '4.7.1', true],
      ],
    );
    const large = await send([bob], Buffer.alloc(81_000_000, 'x'));
    assert.deepEqual(
      large.rejected.map(({ code, enhancedCode }) => [code, enhancedCode]),
      [[552, '5.3.4']],
    );
  });

  test('connections to Postfix are used again', async () => {
    const count = () => postfix.output().match(/smtpd\[\d+\]: connect from/g)?.length ?? 0;
    await pass(plain('first\r\n'));
    const earlier = count();
    for (let n = 0; n < 3; n++) await pass(plain(`${n}\r\n`));
    assert.equal(count(), earlier);
  });
});
