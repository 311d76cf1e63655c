import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { decodeBody, parseEntity, readHeaderOctets } from '../mime/index.ts';
import { buildDsn } from './build-dsn.ts';
import { buildMdn } from './build-mdn.ts';

const found = (name: string): Buffer =>
  readFileSync(new URL(`../../../test/fixtures/found/mime/${name}.eml`, import.meta.url));

/** Both reports on a message with that header. */
function reportsOn(message: Uint8Array): { name: string; message: Buffer }[] {
  const original = readHeaderOctets(parseEntity(message), 'message-id');
  const shared = { date: new Date(0), messageId: '<2@direct.beta.example>', originalMessageId: original };
  const bob = 'bob@direct.beta.example';
  return [
    {
      name: 'Original-Message-ID',
      message: buildMdn({
        ...shared,
        disposition: 'processed',
        finalRecipient: bob,
        originalSender: 'alice@direct.alpha.example',
        reportingUa: { host: 'h', product: 'p' },
      }),
    },
    {
      name: 'X-Original-Message-ID',
      message: buildDsn({
        ...shared,
        reportingMta: 'mx',
        from: bob,
        to: 'alice@direct.alpha.example',
        recipients: [{ finalRecipient: bob, action: 'failed', status: '5.1.1' }],
      }),
    },
  ];
}

const octets = (...values: (string | number)[]): Buffer =>
  Buffer.concat(
    values.map((value) => (typeof value === 'string' ? Buffer.from(value, 'latin1') : Buffer.of(value))),
  );

const identifiers: readonly (readonly [name: string, octets: Buffer, isThreaded: boolean])[] = [
  ['plain', octets('<1@a.example>'), true],
  ['without brackets', octets('6f9619ff-8b86-d011-b42d-00c04fc964ff'), false],
  ['without brackets, with @', octets('1@a.example'), true],
  ['with =? in it', octets('<a8=?b@a.example>'), true],
  ['an encoded word inside', octets('<=?utf-8?Q?x?=@a.example>'), false],
  ['an encoded word as a whole', octets('=?utf-8?q?=3C1=40a=2Eexample=3E?='), false],
  ['two encoded words', octets('=?utf-8?q?=3C1=40a?= =?utf-8?q?=2Eexample=3E?='), false],
  ['with blanks', octets('<1 2@a.example>'), true],
  ['with a comment', octets('<1@a.example> (added by a relay)'), true],
  ['with quotes', octets('<"a b"@a.example>'), false],
  ['with an address literal', octets('<1@[192.0.2.1]>'), false],
  ['without @', octets('<1234567890>'), false],
  ['empty brackets', octets('<>'), false],
  ['only an opening bracket', octets('<1@a.example'), true],
  ['double brackets', octets('<<1@a.example>>'), true],
  ['two identifiers', octets('<1@a.example> <2@a.example>'), true],
  ['UTF-8', Buffer.from('<größe@müller.example>'), false],
  ['UTF-8 that ends in a blank of Latin-1', Buffer.from('<à@a.example>à'), false],
  ['Latin-1', octets('<gr', 0xf6, 0xdf, 'e@a.example>'), false],
  ['octets of no charset', octets('<', 0x80, 0xff, 0xfe, '@a.example>'), false],
  ['a tab and a control character', octets('<a\tb', 1, '@a.example>'), false],
  ['of 400 octets', octets(`<${'x'.repeat(380)}@a.example>`), true],
  ['of 990 octets', octets(`<${'x'.repeat(975)}@a.example>`), false],
  ['of 5000 octets', octets(`<${'x'.repeat(5000)}@a.example>`), false],
  ['long, with blanks', octets(`<${'x '.repeat(500)}@a.example>`), false],
  ['like a field', octets('<1@a.example>; Disposition: x'), true],
  ['a backslash and a percent sign', octets('<a\\b%20@a.example>'), false],
];

for (const [name, id, isThreaded] of identifiers) {
  test(`RFC 8098 §3.2.5: an identifier comes back octet by octet: ${name}`, () => {
    const original = Buffer.concat([
      Buffer.from('From: a@a.example\r\nMessage-ID: '),
      id,
      Buffer.from('\r\n\r\nx'),
    ]);
    for (const { name: field, message } of reportsOn(original)) {
      const entity = parseEntity(message);
      const part = decodeBody(entity.parts[1] ?? entity);
      const line = Buffer.concat([Buffer.from(`${field}: `), id, Buffer.from('\r\n')]);
      assert.notEqual(part.indexOf(line), -1, 'in one line');
      for (const thread of ['in-reply-to', 'references']) {
        const value = entity.header(thread);
        assert.equal(value !== undefined, isThreaded, `${thread}: ${value}`);
        assert.doesNotMatch(value ?? '', /=\?[^?]*\?[bq]\?/i);
      }
      // The report's label is true, and nothing else in the message needs it.
      const encoding = entity.parts[1]?.transferEncoding;
      const isLong = line.length > 1000;
      assert.equal(encoding, isLong ? 'binary' : id.some((byte) => byte > 0x7f) ? '8bit' : '7bit');
    }
  });
}

test('RFC 5322 §2.2.3: a folded identifier is unfolded, and no octet of it is lost', () => {
  for (const folded of ['\r\n <1@a.example>', ' <1@\r\n a.example>', ' <1@a.example>  \r\n ']) {
    const [mdn] = reportsOn(Buffer.from(`Message-ID:${folded}\r\nFrom: a@a.example\r\n\r\nx`));
    assert.match(mdn?.message.toString() ?? '', /^Original-Message-ID: <1@ ?a\.example>\r$/m);
  }
});

test('a message without Message-ID, or with an empty one, is answered without the field', () => {
  for (const header of ['', 'Message-ID:\r\n', 'Message-ID:  \r\n']) {
    for (const { message } of reportsOn(Buffer.from(`${header}From: a@a.example\r\n\r\nx`)))
      assert.doesNotMatch(message.toString(), /Original-Message-ID|In-Reply-To|References/);
  }
});

for (const [file, id] of [
  ['mid-guid', '6f9619ff-8b86-d011-b42d-00c04fc964ff'],
  ['mid-eq-question', '<a8=?b@direct.good.example>'],
] as const) {
  test(`the found message ${file} is answered with its identifier`, () => {
    for (const { name, message } of reportsOn(found(file))) {
      assert.ok(message.toString('latin1').includes(`\r\n${name}: ${id}\r\n`));
      assert.doesNotMatch(message.toString('latin1'), /=\?UTF-8/);
    }
  });
}
