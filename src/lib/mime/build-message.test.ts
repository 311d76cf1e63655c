import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { processorMs } from '../../../test/support/processor-time.ts';
import { fc } from '../../../test/support/fast-check.ts';
import PostalMime from 'postal-mime';
import { isPlainText } from './body-encoding.ts';
import { buildMessage, deriveBoundary, type MessageInput } from './build-message.ts';
import { collectParts, findBodyText } from './collect-parts.ts';
import { decodeWords } from './encoded-words.ts';
import { MimeError } from './errors.ts';
import { readMailboxes } from './mailboxes.ts';
import { parseEntity } from './mime-entity.ts';
import { unwrapEntity, wrapMessage } from './wrap-message.ts';

const base: MessageInput = {
  from: 'alice@direct.alpha.example',
  to: ['bob@direct.beta.example'],
  date: new Date(0),
  messageId: '<1@direct.alpha.example>',
};
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof MimeError) return error.code;
    throw error;
  }
  return 'no error';
};
const awkward = Buffer.concat([
  Buffer.from([0, 0xff, 0x0d, 0x0a, 0x0a, 0x0d, 0x1a]),
  Buffer.from('x'.repeat(5000)),
  Buffer.from('--=_\r\n.\r\nFrom me \r\nend without newline'),
]);

test('AS-33: text with lines near the limit is judged in time that grows with its length', async () => {
  assert.equal(isPlainText(`${'x'.repeat(989)}\r\n`), false);
  for (const [length, isPlain] of [
    [989, true],
    [990, false],
  ] as const)
    assert.equal(isPlainText(`a\n${'x'.repeat(length)}\nb`), isPlain);
  const tookMs = await processorMs(() =>
    assert.equal(isPlainText(`${'x'.repeat(989)}\n`.repeat(2000)), true),
  );
  assert.ok(tookMs < 1000, `${tookMs} ms`);
});

test('AS-36: From, To, Date, Message-ID and MIME-Version stand in every message, no Sender, ASCII only', () => {
  const message = buildMessage({
    ...base,
    subject: 'Grüße an 世界',
    text: 'é',
    attachments: [{ mediaType: 'text/plain', content: awkward, fileName: 'é.txt', title: 'Ünder' }],
  });
  const entity = parseEntity(message);
  assert.deepEqual(
    ['from', 'to', 'date', 'message-id', 'mime-version', 'sender'].map((name) => entity.header(name)),
    [base.from, base.to[0], 'Thu, 01 Jan 1970 00:00:00 +0000', base.messageId, '1.0', undefined],
  );
  assert.ok(message.every((byte) => byte < 0x80));
  const long = buildMessage({
    ...base,
    from: { displayName: 'Größe '.repeat(20), address: 'a@b.example' },
    subject: 'ü'.repeat(200),
  });
  const words = long
    .toString('latin1')
    .split('\r\n')
    .filter((line) => line.includes('=?'));
  assert.ok(words.length > 5 && words.every((line) => line.length <= 76));
  assert.equal(decodeWords(entity.header('subject') ?? ''), 'Grüße an 世界');
});

test('AS-33: CRLF line ends, seven bits, lines under 998, no blanks at line ends', () => {
  const text = buildMessage({
    ...base,
    subject: '',
    text: 'trailing \r\nFrom x\nlong '.padEnd(3000, 'y'),
    attachments: [{ mediaType: 'application/pdf', content: awkward }],
  }).toString('latin1');
  assert.doesNotMatch(text, /[^\r]\n|\r[^\n]|[ \t]\r\n|[^\p{ASCII}]|[^\n]{999}|\nFrom /u);
});

test('AS-37: a Message-ID that is not <left@right> is refused', () => {
  for (const messageId of [
    'urn:uuid:00000000-0000-4000-8000-000000000000',
    '<a b@c>',
    '<a@>',
    'a@b>\r\nBcc: x@y',
  ]) {
    assert.equal(
      codeOf(() => buildMessage({ ...base, messageId })),
      'MIME_MESSAGE_ID_INVALID',
    );
  }
});

test('AS-38: no Bcc, and no second copy of a field that the writer sets', () => {
  for (const name of ['Bcc', 'bcc', 'Resent-Bcc', 'From', 'content-type']) {
    assert.equal(
      codeOf(() => buildMessage({ ...base, headers: [[name, 'x@y.example']] })),
      'MIME_HEADER_FORBIDDEN',
    );
  }
});

test('AS-40: the boundary has at most 70 characters, no colon, and occurs nowhere in the content', () => {
  const boundary = deriveBoundary('<1@direct.alpha.example>');
  assert.match(boundary, /^[0-9a-zA-Z'()+_,\-./=?]{1,70}$/);
  const message = buildMessage({
    ...base,
    text: `--${boundary}\r\nx`,
    attachments: [{ mediaType: 'text/plain', content: Buffer.from(`\r\n--${boundary}--\r\n`) }],
  });
  const encodings = parseEntity(message).parts.map((part) => part.transferEncoding);
  assert.deepEqual(encodings, ['base64', 'base64']);
});

test('SEC-12: line breaks and NUL in subject, names, titles and addresses are refused', () => {
  const attachment = { mediaType: 'text/plain', content: Buffer.from('x') };
  const refused: Partial<MessageInput>[] = [
    { subject: 'a\r\nBcc: x@y' },
    { subject: 'a\0' },
    { headers: [['X', 'a\nb']] },
    { headers: [['X:', 'a']] },
    { from: { displayName: 'a\nb', address: 'a@b.example' } },
    { attachments: [{ ...attachment, title: 'a\rb' }] },
    { attachments: [{ ...attachment, fileName: 'a\nb' }] },
  ];
  for (const input of refused)
    assert.equal(
      codeOf(() => buildMessage({ ...base, ...input })),
      'MIME_HEADER_UNSAFE',
    );
  for (const address of ['a@b>\r\nX: y', 'a b@c', 'a', '<a@b>', 'a@b,c@d', '"a"b"@c', '(a)@b'])
    assert.equal(
      codeOf(() => buildMessage({ ...base, to: [address] })),
      'MIME_ADDRESS_INVALID',
    );
  assert.equal(
    codeOf(() => buildMessage({ ...base, to: [] })),
    'MIME_ADDRESS_INVALID',
  );
  assert.equal(
    codeOf(() => buildMessage({ ...base, attachments: [{ ...attachment, mediaType: 'pdf' }] })),
    'MIME_MEDIA_TYPE_INVALID',
  );
});

test('payload bytes come out exactly as they went in', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }), (contents) => {
      const message = buildMessage({
        ...base,
        text: 'x',
        attachments: contents.map((content) => ({ mediaType: 'application/octet-stream', content })),
      });
      const parts = collectParts(parseEntity(message)).slice(1);
      assert.deepEqual(
        parts.map((part) => part.content().toString('hex')),
        contents.map((content) => Buffer.from(content).toString('hex')),
      );
    }),
  );
});

test('text, subject, file name and title come out as they went in', () => {
  const line = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 300 })
    .map((text) => text.replace(/[\r\n\0\p{Cc}]/gu, ' ').toWellFormed());
  fc.assert(
    fc.property(
      line,
      line,
      line,
      fc.string({ unit: 'grapheme', maxLength: 2000 }),
      (subject, fileName, title, text) => {
        const message = buildMessage({
          ...base,
          subject,
          text,
          attachments: [
            {
              mediaType: 'text/xml; charset=utf-8',
              content: Buffer.from('x'),
              title,
              fileName: `${fileName.replace(/[/\\]/g, '_')}.xml`,
            },
          ],
        });
        const entity = parseEntity(message);
        const parts = collectParts(entity);
        assert.equal(
          decodeWords(entity.header('subject') ?? ''),
          subject.includes('\u0000') ? '' : keepBlanks(subject, entity.header('subject')),
        );
        assert.equal(
          findBodyText(entity, parts)?.text(),
          text
            .toWellFormed()
            .replace(/\r\n|\r|\n/g, '\r\n')
            .replace(/^\ufeff/, ''),
        );
        assert.equal(
          parts[1]?.entity.disposition?.parameters.get('filename'),
          `${fileName.replace(/[/\\]/g, '_')}.xml`.replace(/^\ufeff/, ''),
        );
        assert.equal(parts[1]?.title, title.trim() === '' ? undefined : title.trim());
      },
    ),
  );
});

/** A subject of blanks only cannot be distinguished from an empty one. */
function keepBlanks(text: string, value: string | undefined): string {
  return value === '' ? '' : text;
}

test('text that resembles an encoded word is encoded, so that no reader decodes it', () => {
  const odd = '=?utf-8?q?x=3Dy?=';
  const message = buildMessage({
    ...base,
    from: { displayName: odd, address: 'a@b.example' },
    subject: odd,
    attachments: [{ mediaType: 'text/plain', content: Buffer.from('x'), fileName: `${odd}.txt`, title: odd }],
  });
  const entity = parseEntity(message);
  const [part] = collectParts(entity);
  assert.equal(decodeWords(entity.header('subject') ?? ''), odd);
  assert.equal(readMailboxes(entity.header('from') ?? '')[0]?.displayName, odd);
  assert.deepEqual([part?.title, part?.fileName], [odd, `${odd}.txt`]);
});

test('wrapping keeps every byte of a canonical message and turns bare LF into CRLF (AS-30, AS-34)', () => {
  const message = buildMessage({
    ...base,
    subject: 's',
    text: 'x',
    attachments: [{ mediaType: 'image/png', content: awkward }],
  });
  const wrapped = wrapMessage(message);
  assert.deepEqual(unwrapEntity(parseEntity(wrapped)), message);
  assert.equal(
    wrapped.subarray(0, wrapped.length - message.length).toString(),
    'Content-Type: message/rfc822\r\n\r\n',
  );
  assert.equal(
    wrapMessage(Buffer.from('A: 1\n\nx\ry')).toString(),
    'Content-Type: message/rfc822\r\n\r\nA: 1\r\n\r\nx\r\ny',
  );
  assert.match(
    wrapMessage(Buffer.from('A: 1\r\n\r\né')).toString(),
    /^Content-Type: message\/rfc822\r\nContent-Transfer-Encoding: 8bit\r\n\r\n/,
  );
  assert.equal(unwrapEntity(parseEntity(Buffer.from('Content-Type: text/plain\r\n\r\nx'))), undefined);
});

test('CTX-01: the header and the attachment of Expressing Context pass through untouched', () => {
  const metadata = Buffer.from(
    'version: 1.1\nid: 2e8e1c5e\npatient-id: 1.2.3:4\ntype: general/notification\n',
  );
  const message = buildMessage({
    ...base,
    text: 'x',
    headers: [['X-Direct-Context', '<context@direct.alpha.example>']],
    attachments: [
      {
        mediaType: 'text/plain',
        content: metadata,
        fileName: 'metadata.txt',
        contentId: 'context@direct.alpha.example',
      },
    ],
  });
  const entity = parseEntity(message);
  const part = collectParts(entity)[1];
  assert.equal(entity.header('x-direct-context'), '<context@direct.alpha.example>');
  assert.deepEqual(
    [part?.contentId, part?.fileName, part?.content()],
    ['context@direct.alpha.example', 'metadata.txt', metadata],
  );
});

test('AS-74: a wrapped message in base64 or quoted-printable is unwrapped', () => {
  const open = (encoding: string, body: string): string | undefined =>
    unwrapEntity(
      parseEntity(
        Buffer.from(`Content-Type: message/rfc822\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`),
      ),
    )?.toString();
  assert.equal(open('base64', Buffer.from('A: 1\r\n\r\nx').toString('base64')), 'A: 1\r\n\r\nx');
  assert.equal(open('quoted-printable', 'A: =31\r\n\r\nx'), 'A: 1\r\n\r\nx');
});

const sample: MessageInput = {
  ...base,
  from: { displayName: 'Dr. Ålice "A" Smith', address: 'alice@direct.alpha.example' },
  to: Array.from({ length: 30 }, (_, index) => `recipient-number-${index}@direct.beta.example`),
  subject:
    'Überweisung für Patient mit einem sehr langen Betreff, der gefaltet werden muss — 世界世界世界世界',
  text: 'Grüße\nund mehr',
  attachments: [
    {
      mediaType: 'text/xml',
      content: awkward,
      fileName: 'Zusammenfassung über den sehr langen Aufenthalt im Krankenhaus der Stadt.xml',
      title: 'Entlaßbrief',
    },
    { mediaType: 'application/pdf', content: Buffer.alloc(0), fileName: 'plain "name".pdf' },
  ],
};

test('an independent parser (postal-mime) reads the built messages', async () => {
  const mail = await PostalMime.parse(buildMessage(sample));
  assert.equal(mail.subject, sample.subject);
  assert.deepEqual(mail.from, { name: 'Dr. Ålice "A" Smith', address: 'alice@direct.alpha.example' });
  assert.equal(mail.to?.length, 30);
  assert.equal(mail.text?.trim(), 'Grüße\r\nund mehr');
  assert.deepEqual(
    mail.attachments.map((part) => part.filename),
    sample.attachments?.map((part) => part.fileName),
  );
  assert.deepEqual(Buffer.from(mail.attachments[0]?.content as ArrayBuffer), awkward);
});

const python = spawnSync('python3', ['--version']).status === 0;
const pythonReader = `
import sys, json, email, email.policy, base64
m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
parts = [p for p in m.walk() if not p.is_multipart()]
defects = [str(type(d)) for p in m.walk() for d in p.defects] + [str(type(d)) for p in m.walk() for v in p.values() for d in v.defects]
print(json.dumps(dict(subject=m['subject'], sender=m['from'].addresses[0].display_name, to=len(m['to'].addresses), defects=defects,
  names=[p.get_filename() for p in parts], bodies=[base64.b64encode(p.get_payload(decode=True)).decode() for p in parts], description=str(parts[1]['content-description']))))
`;

test(
  'an independent parser (Python email) reads what is written, without a defect but two names',
  { skip: python ? false : 'python3 is missing' },
  () => {
    const run = spawnSync('python3', ['-c', pythonReader], { input: buildMessage(sample) });
    const seen = JSON.parse(run.stdout.toString()) as Record<string, unknown>;
    assert.deepEqual(seen, {
      subject: sample.subject,
      sender: 'Dr. Ålice "A" Smith',
      to: 30,
      // It reads the plain name of two, and says so: one of each field.
      defects: Array.from({ length: 2 }, () => "<class 'email.errors.InvalidHeaderDefect'>"),
      names: [
        null,
        'Zusammenfassung uber den sehr langen Aufenthalt im Krankenhaus der Stadt.xml',
        'plain "name".pdf',
      ],
      bodies: [Buffer.from('Grüße\r\nund mehr').toString('base64'), awkward.toString('base64'), ''],
      description: 'Entlaßbrief',
    });
  },
);
