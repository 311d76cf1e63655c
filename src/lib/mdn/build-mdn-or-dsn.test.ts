import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { MimeError, parseEntity } from '../mime/index.ts';
import { buildDsn, type DsnInput } from './build-dsn.ts';
import { buildMdn, type MdnInput } from './build-mdn.ts';
import { MdnError } from './errors.ts';
import { readMdnOrDsn } from './read-mdn-or-dsn.ts';

const mdn: MdnInput = {
  disposition: 'processed',
  finalRecipient: 'bob@direct.beta.example',
  originalSender: 'alice@direct.alpha.example',
  originalMessageId: '<1@direct.alpha.example>',
  reportingUa: { host: 'direct.beta.example', product: 'openhisp/1.0 (test)' },
  date: new Date(0),
  messageId: '<2@direct.beta.example>',
};
const dsn: DsnInput = {
  reportingMta: 'mx.direct.beta.example',
  from: 'postmaster@direct.beta.example',
  to: 'alice@direct.alpha.example',
  date: new Date(0),
  messageId: '<3@direct.beta.example>',
  originalMessageId: '<1@direct.alpha.example>',
  recipients: [
    {
      finalRecipient: 'bob@direct.beta.example',
      action: 'failed',
      status: '5.1.1',
      diagnostic: '550 5.1.1 unknown\r\nmailbox é',
    },
    {
      finalRecipient: 'carol@direct.beta.example',
      action: 'failed',
      status: '5.7.31',
      diagnostic: 'no certificate',
    },
  ],
  arrivedAt: new Date(500),
};
const partText = (bytes: Uint8Array, index: number): string =>
  Buffer.from(parseEntity(bytes).parts[index]?.bodyBytes ?? []).toString('latin1');

test('MDN-04: multipart/report with a text and a disposition-notification, no part of the original', () => {
  const entity = parseEntity(buildMdn(mdn));
  assert.equal(entity.contentType.mediaType, 'multipart/report');
  assert.equal(entity.contentType.parameters.get('report-type'), 'disposition-notification');
  assert.deepEqual(
    entity.parts.map((part) => part.contentType.mediaType),
    ['text/plain', 'message/disposition-notification'],
  );
});

test('MDN-05: the fields of a processed MDN, word for word', () => {
  assert.equal(
    partText(buildMdn(mdn), 1),
    'Reporting-UA: direct.beta.example; openhisp-1.0 -test-\r\nFinal-Recipient: rfc822;bob@direct.beta.example\r\n' +
      'Original-Message-ID: <1@direct.alpha.example>\r\nDisposition: automatic-action/MDN-sent-automatically;processed\r\n',
  );
});

test('MDN-06: Reporting-UA holds only characters that the ETT pattern takes', () => {
  const reportingUa = { host: 'hisp.example', product: 'open (hisp) / é' };
  assert.match(partText(buildMdn({ ...mdn, reportingUa }), 1), /^Reporting-UA: [\w. -]+; [\w. -]+\r\n/);
});

for (const failureText of [
  'mailbox full: Größe',
  'disk full: /var (é)',
  'a "quoted" word; 50% <x@y>',
  '=?utf-8?q?no?= word',
  `${'lang '.repeat(60)}\u{1f4a5}`,
]) {
  test(`RFC 8098 §3.2.7: the failure text “${failureText.slice(0, 30)}” arrives as it was given`, () => {
    const bytes = buildMdn({ ...mdn, disposition: 'failed', failureText });
    const read = readMdnOrDsn(parseEntity(bytes));
    assert.ok(read?.kind === 'mdn');
    assert.equal(read.explanation, failureText.trim());
    assert.ok(bytes.every((byte) => byte < 0x80));
  });
}

test('RFC 8098 §3.2.7: line breaks and controls in a failure text make no other field', () => {
  const bytes = buildMdn({
    ...mdn,
    disposition: 'failed',
    failureText: 'a\r\nDisposition: x;processed\0b\tc',
  });
  const read = readMdnOrDsn(parseEntity(bytes));
  assert.ok(read?.kind === 'mdn');
  assert.deepEqual([read.disposition, read.explanation], ['failed', 'a Disposition: x;processed b c']);
});

test('MDN-07: an MDN asks for no MDN', () => {
  for (const disposition of ['processed', 'dispatched', 'failed'] as const) {
    const entity = parseEntity(buildMdn({ ...mdn, disposition, isFinalDelivery: true }));
    assert.equal(entity.header('disposition-notification-to'), undefined);
    assert.equal(entity.header('disposition-notification-options'), undefined);
  }
});

test('MDN-08: From is the recipient, To the sender, threaded, with its own identifier and a neutral subject', () => {
  const entity = parseEntity(buildMdn(mdn));
  assert.deepEqual(
    ['from', 'to', 'in-reply-to', 'references', 'message-id', 'subject', 'mime-version'].map((name) =>
      entity.header(name),
    ),
    [
      'bob@direct.beta.example',
      'alice@direct.alpha.example',
      '<1@direct.alpha.example>',
      '<1@direct.alpha.example>',
      '<2@direct.beta.example>',
      'Processed: message disposition notification',
      '1.0',
    ],
  );
});

test('MDN-08: an original identifier that is no msg-id is copied into the report but not into headers', () => {
  const entity = parseEntity(buildMdn({ ...mdn, originalMessageId: '0c796d0e-4c76 strange' }));
  assert.equal(entity.header('in-reply-to'), undefined);
  assert.match(
    partText(buildMdn({ ...mdn, originalMessageId: '0c796d0e-4c76 strange' }), 1),
    /Original-Message-ID: 0c796d0e-4c76 strange\r\n/,
  );
  assert.doesNotMatch(
    partText(buildMdn({ ...mdn, originalMessageId: 'a\r\nX: y' }), 1),
    /Original-Message-ID/,
  );
});

test('MDN-10: a dispatched MDN confirms final delivery by an empty field, if it was asked for', () => {
  const asked = buildMdn({ ...mdn, disposition: 'dispatched', isFinalDelivery: true });
  assert.match(
    partText(asked, 1),
    /\r\nX-DIRECT-FINAL-DESTINATION-DELIVERY:\r\nDisposition: automatic-action\/MDN-sent-automatically;dispatched\r\n$/,
  );
  assert.doesNotMatch(partText(buildMdn({ ...mdn, disposition: 'dispatched' }), 1), /X-DIRECT/);
  assert.doesNotMatch(partText(buildMdn({ ...mdn, isFinalDelivery: true }), 1), /X-DIRECT/);
});

test('MDN-12: a failed MDN is read as a failure', () => {
  const read = readMdnOrDsn(
    parseEntity(buildMdn({ ...mdn, disposition: 'failed', failureText: 'mailbox gone' })),
  );
  assert.ok(read?.kind === 'mdn' && read.isFailure);
  assert.equal(read.explanation, 'mailbox gone');
});

test('AS-33: MDNs and DSNs are seven-bit with CRLF and no blanks at line ends', () => {
  for (const bytes of [
    buildMdn({ ...mdn, disposition: 'dispatched', isFinalDelivery: true, text: 'Grüße' }),
    buildDsn(dsn),
  ]) {
    assert.doesNotMatch(bytes.toString('latin1'), /[^\r]\n|\r[^\n]|[ \t]\r\n|[^\p{ASCII}]/u);
  }
});

test('DSN-01: multipart/report with a text and a delivery-status', () => {
  const entity = parseEntity(buildDsn(dsn));
  assert.equal(entity.contentType.parameters.get('report-type'), 'delivery-status');
  assert.deepEqual(
    entity.parts.map((part) => part.contentType.mediaType),
    ['text/plain', 'message/delivery-status'],
  );
});

test('DSN-02, DSN-03: the fields per message and per recipient, and the identifiers to correlate by', () => {
  const bytes = buildDsn(dsn);
  assert.equal(
    partText(bytes, 1),
    'Reporting-MTA: dns;mx.direct.beta.example\r\nX-Original-Message-ID: <1@direct.alpha.example>\r\nArrival-Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n\r\n' +
      'Final-Recipient: rfc822;bob@direct.beta.example\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: x-direct;550 5.1.1 unknown mailbox\r\n\r\n' +
      'Final-Recipient: rfc822;carol@direct.beta.example\r\nAction: failed\r\nStatus: 5.7.31\r\nDiagnostic-Code: x-direct;no certificate\r\n',
  );
  assert.equal(parseEntity(bytes).header('in-reply-to'), '<1@direct.alpha.example>');
});

test('DSN-04: each status code is read back as it was written, and only a failed action counts as a failure', () => {
  for (const [status, action, isFailure] of [
    ['5.1.1', 'failed', true],
    ['5.7.31', 'failed', true],
    ['5.4.71', 'failed', true],
    ['5.3.0', 'failed', true],
    ['4.4.1', 'delayed', false],
    ['2.0.0', 'delivered', false],
  ] as const) {
    const recipients = [{ finalRecipient: 'bob@direct.beta.example', action, status }];
    const read = readMdnOrDsn(parseEntity(buildDsn({ ...dsn, recipients })));
    assert.ok(read?.kind === 'dsn', status);
    const [recipient] = read.recipients;
    assert.deepEqual(
      [recipient?.status, recipient?.action, recipient?.isFailure],
      [status, action, isFailure],
    );
  }
});

test('MDN_NO_RECIPIENTS, MDN_STATUS_CODE_INVALID and illegal addresses are refused', () => {
  assert.throws(
    () => buildDsn({ ...dsn, recipients: [] }),
    (error) => error instanceof MdnError && error.code === 'MDN_NO_RECIPIENTS',
  );
  assert.throws(
    () =>
      buildDsn({ ...dsn, recipients: [{ finalRecipient: 'a@b.example', action: 'failed', status: 'x' }] }),
    (error) => error instanceof MdnError && error.code === 'MDN_STATUS_CODE_INVALID',
  );
  assert.throws(() => buildMdn({ ...mdn, finalRecipient: 'a@b\r\nBcc: c@d' }), MimeError);
  assert.throws(() => buildDsn({ ...dsn, reportingMta: 'a\r\nb' }), MimeError);
});

test('reads back its own output', () => {
  const id = fc.stringMatching(/^[a-z0-9.]{1,40}$/).map((left) => `<${left}@direct.alpha.example>`);
  fc.assert(
    fc.property(
      fc.constantFrom('processed', 'dispatched', 'failed'),
      id,
      fc.boolean(),
      (disposition, originalMessageId, isFinalDelivery) => {
        const read = readMdnOrDsn(
          parseEntity(buildMdn({ ...mdn, disposition, originalMessageId, isFinalDelivery })),
        );
        assert.ok(read?.kind === 'mdn');
        assert.equal(read.disposition, disposition);
        assert.deepEqual(read.originalMessageIds, [originalMessageId]);
        assert.equal(read.finalRecipient, mdn.finalRecipient);
        assert.equal(read.confirmsFinalDelivery, disposition === 'dispatched' && isFinalDelivery);
      },
    ),
  );
  const read = readMdnOrDsn(parseEntity(buildDsn(dsn)));
  assert.ok(read?.kind === 'dsn');
  assert.deepEqual(
    read.recipients.map(({ finalRecipient, status, isFailure }) => [finalRecipient, status, isFailure]),
    [
      ['bob@direct.beta.example', '5.1.1', true],
      ['carol@direct.beta.example', '5.7.31', true],
    ],
  );
});

const hasPython = spawnSync('python3', ['--version']).status === 0;
const pythonReader = `
import sys, json, email, email.policy
m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
r = m.get_payload()[1]
print(json.dumps(dict(type=m.get_content_type(), report=m.get_param('report-type'), defects=len(m.defects), blocks=[dict(b.items()) for b in r.get_payload()])))
`;

test(
  'an independent parser (Python email) reads both reports',
  { skip: hasPython ? false : 'python3 is missing' },
  () => {
    const read = (input: Buffer): { report: string; defects: number; blocks: Record<string, string>[] } =>
      JSON.parse(spawnSync('python3', ['-c', pythonReader], { input }).stdout.toString());
    const seen = read(buildMdn({ ...mdn, disposition: 'dispatched', isFinalDelivery: true }));
    assert.deepEqual(
      [
        seen.report,
        seen.defects,
        seen.blocks[0]?.['Final-Recipient'],
        seen.blocks[0]?.['X-DIRECT-FINAL-DESTINATION-DELIVERY'],
      ],
      ['disposition-notification', 0, 'rfc822;bob@direct.beta.example', ''],
    );
    assert.deepEqual(
      read(buildDsn(dsn))
        .blocks.map((block) => block['Status'])
        .filter((status) => status !== undefined),
      ['5.1.1', '5.7.31'],
    );
  },
);
