import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseEntity, type MimeEntity } from '../mime/index.ts';
import { hasDocumentsBesideReport, isReport } from './find-report.ts';
import type { MdnOrDsn } from './mdn-or-dsn.ts';
import { readMdnOrDsn } from './read-mdn-or-dsn.ts';
import { findUnanswered } from './unanswered.ts';

const from = 'From: Bob <bob@direct.beta.example>\n';
const parse = (text: string): MimeEntity => parseEntity(Buffer.from(text.replaceAll('\n', '\r\n')));
const read = (text: string): MdnOrDsn | undefined => readMdnOrDsn(parse(text));

const mdnFields = (disposition: string): string =>
  `Reporting-UA: x; y\nFinal-Recipient: rfc822;bob@direct.beta.example\nOriginal-Message-ID: <1@a.example>\nDisposition: ${disposition}\n`;
const processed = mdnFields('automatic-action/MDN-sent-automatically; processed');
const dsnFields =
  'Reporting-MTA: dns;mx\nX-Original-Message-ID: <1@a.example>\n\nFinal-Recipient: rfc822;bob@direct.beta.example\nAction: failed\nStatus: 5.1.1\n';
const part = (type: string, body: string, more = ''): string => `Content-Type: ${type}\n${more}\n${body}`;
const multipart = (type: string, ...parts: string[]): string => {
  const boundary = `b${type.length}x${parts.length}x${parts.join('').length}`;
  return `Content-Type: ${type}; boundary=${boundary}\n\n${parts.map((one) => `--${boundary}\n${one}\n`).join('')}--${boundary}--\n`;
};
const text = part('text/plain', 'Your message was processed.');
const footer = part('text/plain', 'This message was scanned.');
const mdn = part('message/disposition-notification', processed);
const dsn = part('message/delivery-status', dsnFields);
const report = multipart('multipart/report; report-type=disposition-notification', text, mdn);
const returned = part('message/rfc822', 'From: a@a.example\nMessage-ID: <1@a.example>\n\nsecret');
const encoded = (body: string): string => Buffer.from(body.replaceAll('\n', '\r\n')).toString('base64');

const failures: readonly (readonly [type: string, reason: string | undefined])[] = [
  ['processed/Error: decryption-failed', 'decryption-failed'],
  ['processed/error: authentication-failed', 'authentication-failed'],
  ['processed/Error: Could not parse message', 'Could not parse message'],
  ['processed/ERROR:integrity-check-failed', 'integrity-check-failed'],
  ['processed/failure', undefined],
  ['processed/Failure: unsupported format', 'unsupported format'],
  ['processed/failed', undefined],
  ['processed / Error : unexpected-processing-error', 'unexpected-processing-error'],
  ['failed/Failure: sender-equals-receiver', 'sender-equals-receiver'],
  ['processed/error; insufficient-message-security', 'insufficient-message-security'],
  ['processed/warning, error', undefined],
  ['processed/warning: duplicate-document, error: decryption-failed', undefined],
  ['processed/error (no key for it)', undefined],
  ['processed/error decompression-failed', 'decompression-failed'],
  ['dispatched/error', undefined],
  ['displayed/Error: x', 'x'],
  ['deleted/error', undefined],
  ['unknown-type/error: y', 'y'],
  ['PROCESSED/ERROR', undefined],
  ['processed/errors', undefined],
  ['processed/error-mailbox', undefined],
  ['processed/denied', undefined],
  ['error', undefined],
  ['failed', undefined],
  [';processed/error', undefined],
  ['processed, error', undefined],
  ['processed error: decryption-failed', 'decryption-failed'],
  ['processed: Failure', undefined],
  ['failure', undefined],
  ['Failure: no such mailbox', 'no such mailbox'],
  ['processed\\error', undefined],
  ['processed|error: no key', 'no key'],
  ['processed-error', undefined],
  ['processed／error', undefined],
  ['processed/"error"', undefined],
  ['"processed/error"', undefined],
  ['[failed]', undefined],
  ['processed/warning/error', undefined],
  ['processed/error/decryption-failed', 'decryption-failed'],
  ['processed, warning, failure', undefined],
  ['processed/decryption-failed', 'decryption-failed'],
  ['processed/unexpected-processing-error', 'unexpected-processing-error'],
  ['processed/x-error', undefined],
  ['processed/x-failure', undefined],
  ['processed/rejected', undefined],
  ['processed/sender-equals-receiver', undefined],
  ['processed/error: none, failure: decryption-failed', undefined],
  ['processed/=?utf-8?q?error?=', undefined],
  ['failed; mailbox full', 'mailbox full'],
];
for (const [type, reason] of failures) {
  test(`RFC 8098 §3.2.6: “${type}” is a failure`, () => {
    for (const mode of ['automatic-action/MDN-sent-automatically; ', 'manual-action/MDN-sent-manually;']) {
      const found = read(
        multipart('multipart/report', text, part('message/disposition-notification', mdnFields(mode + type))),
      );
      assert.ok(found?.kind === 'mdn' && found.isFailure);
      if (reason !== undefined) assert.equal(found.explanation, reason);
    }
  });
}

test('of two dispositions about one recipient the failure counts, and not that of another recipient', () => {
  const both = (...fields: string[]) =>
    read(
      multipart(
        'multipart/report',
        text,
        part('message/disposition-notification', `${processed}${fields.join('\n')}\n`),
      ),
    );
  const failed = 'Disposition: automatic-action/MDN-sent-automatically; failed/Failure:\n mailbox gone';
  const found = both(failed);
  assert.ok(found?.kind === 'mdn' && found.isFailure);
  assert.deepEqual([found.disposition, found.explanation], ['failed', 'mailbox gone']);
  const other = both('Final-Recipient: rfc822; other@b.example', failed);
  assert.ok(other?.kind === 'mdn' && !other.isFailure && other.disposition === 'processed');
});

test('an Error field that says there is none is no failure', () => {
  for (const field of ['Error: none', 'Failure: N/A', 'Error: No error.', 'Error: -']) {
    const found = read(
      multipart('multipart/report', text, part('message/disposition-notification', `${processed}${field}\n`)),
    );
    assert.ok(found?.kind === 'mdn' && !found.isFailure && found.explanation === undefined, field);
  }
});

test('RFC 8098 §3.2.7: a Failure or Error field says failure, whatever the disposition', () => {
  for (const field of ['Failure: mailbox gone', 'Error: no key']) {
    const found = read(
      multipart('multipart/report', text, part('message/disposition-notification', `${processed}${field}\n`)),
    );
    assert.ok(found?.kind === 'mdn' && found.isFailure);
    assert.equal(found.explanation, field.split(': ')[1]);
  }
});

for (const type of [
  'processed',
  'processed/warning: duplicate-document',
  'processed/warning: error ignored, failure too',
  'processed/superseded',
  'processed;',
  'processed; processed',
  'processed (no error)',
  'processed/no-error',
  ...[
    'non-error',
    'zero-error',
    'without-error',
    'x-no-error',
    'not-failed',
    'nonfatal-error',
    'x-soft-error',
    'recovered-error',
    'warning-error',
    'x-redirected-after-failure',
    'failover',
    'fail-safe',
    'error-free',
    'error: none',
    'Error: No error.',
  ].map((modifier) => `processed/${modifier}`),
  'processed/warning, previously-failed',
  'processed;error=none',
  'Processed/',
]) {
  test(`RFC 8098 §3.2.6: “${type}” is no failure`, () => {
    const found = read(
      multipart(
        'multipart/report',
        text,
        part('message/disposition-notification', mdnFields(`automatic-action/x; ${type}`)),
      ),
    );
    assert.ok(found?.kind === 'mdn');
    assert.deepEqual([found.disposition, found.isFailure], ['processed', false]);
  });
}

test('a blank or slash in place of the semicolon behind the modes is read', () => {
  for (const type of [
    '/MDN-sent-automatically processed',
    '/MDN-sent-automatically /processed',
    '/MDN-sent-automatically  processed; x',
    ';MDN-sent-automatically;processed',
    '/MDN-sent-automatically:processed',
    '/MDN-sent-automatically,processed',
  ]) {
    const fields = mdnFields(`Automatic-Action${type}`);
    const found = read(multipart('multipart/report', part('message/disposition-notification', fields)));
    assert.ok(found?.kind === 'mdn');
    assert.deepEqual([found.disposition, found.isFailure], ['processed', false]);
  }
});

const places: readonly (readonly [name: string, kind: 'mdn' | 'dsn', message: string])[] = [
  ['beside a footer', 'mdn', multipart('multipart/mixed', report, footer)],
  ['behind a banner', 'mdn', multipart('multipart/mixed', footer, report)],
  ['in multipart/mixed instead of multipart/report', 'mdn', multipart('multipart/mixed', text, mdn)],
  ['in multipart/related', 'mdn', multipart('multipart/related', text, mdn)],
  ['in multipart/alternative', 'mdn', multipart('multipart/alternative', text, mdn)],
  [
    'two levels down',
    'mdn',
    multipart('multipart/mixed', multipart('multipart/mixed', report, footer), footer),
  ],
  [
    'its fields one level down',
    'mdn',
    multipart('multipart/report', text, multipart('multipart/mixed', mdn, footer)),
  ],
  [
    'text and HTML before it',
    'mdn',
    multipart('multipart/report', multipart('multipart/alternative', text, part('text/html', '<p>x')), mdn),
  ],
  [
    'inside a signature of another gateway',
    'mdn',
    multipart(
      'multipart/signed',
      report,
      part('application/pkcs7-signature', 'AA==', 'Content-Transfer-Encoding: base64\n'),
    ),
  ],
  [
    'as octets with a name',
    'mdn',
    multipart('multipart/mixed', text, part('application/octet-stream; name=ATT1.dat', processed)),
  ],
  [
    'as text',
    'mdn',
    multipart(
      'multipart/mixed',
      text,
      part('text/plain', processed, 'Content-Disposition: attachment; filename=details.txt\n'),
    ),
  ],
  [
    'as text in base64',
    'mdn',
    multipart(
      'multipart/mixed',
      text,
      part('text/plain', encoded(processed), 'Content-Transfer-Encoding: base64\n'),
    ),
  ],
  [
    'in multipart/report without a type',
    'mdn',
    multipart('multipart/report', text, part('text/plain', processed)),
  ],
  [
    'as the global type',
    'mdn',
    multipart('multipart/mixed', text, part('message/global-disposition-notification', processed)),
  ],
  [
    'type in another case',
    'mdn',
    multipart('MULTIPART/Mixed', text, part('Message/Disposition-Notification', processed)),
  ],
  [
    'wrapped as the original of a message with a footer',
    'mdn',
    from + multipart('multipart/mixed', footer, part('message/rfc822', from + report)),
  ],
  ['wrapped alone', 'mdn', from + part('message/rfc822', from + report)],
  [
    'a bounce beside a footer',
    'dsn',
    multipart(
      'multipart/mixed',
      multipart('multipart/report; report-type=delivery-status', text, dsn, returned),
      footer,
    ),
  ],
  ['a bounce in multipart/mixed', 'dsn', multipart('multipart/mixed', text, dsn, returned)],
  [
    'a bounce with text and HTML',
    'dsn',
    multipart('multipart/mixed', multipart('multipart/alternative', text, part('text/html', '<p>x')), dsn),
  ],
  [
    'a bounce as octets',
    'dsn',
    multipart('multipart/mixed', text, part('application/octet-stream', dsnFields)),
  ],
  [
    'a bounce with a footer that was attached',
    'dsn',
    multipart(
      'multipart/mixed',
      text,
      dsn,
      part('text/plain; name=ATT00001.txt', 'scanned', 'Content-Disposition: attachment\n'),
    ),
  ],
  [
    'a bounce with a logo',
    'dsn',
    multipart('multipart/mixed', text, dsn, part('image/png', 'x', 'Content-ID: <logo>\n')),
  ],
  ['a bounce without a type', 'dsn', multipart('multipart/report', text, part('text/plain', dsnFields))],
];
for (const [name, kind, message] of places) {
  test(`RFC 6522 §3: a report is read: ${name}`, () => {
    const found = read(message);
    assert.equal(found?.kind, kind);
    assert.deepEqual(found?.originalMessageIds, ['<1@a.example>']);
    if (found?.kind === 'mdn') assert.equal(found.disposition, 'processed');
    if (found?.kind === 'dsn') assert.equal(found.recipients[0]?.isFailure, true);
    assert.equal(hasDocumentsBesideReport(parse(message)), false);
    assert.equal(findUnanswered(parse(message), 'bob@direct.beta.example'), 'report');
  });
}

const documents = [
  part('application/pdf', 'x', 'Content-Disposition: attachment; filename=lab.pdf\n'),
  part('application/xml', '<ClinicalDocument/>'),
  part('text/plain', 'Glucose 95', 'Content-Disposition: attachment; filename=lab.txt\n'),
  part('image/png', 'x', 'Content-Disposition: attachment; filename=scan.png\n'),
];
test('a document beside a report is mail as well, and the report is still read and never answered', () => {
  for (const document of documents) {
    for (const message of [
      multipart('multipart/mixed', report, document),
      multipart('multipart/mixed', text, dsn, document),
    ]) {
      assert.ok(read(message) !== undefined);
      assert.equal(hasDocumentsBesideReport(parse(message)), true);
      assert.equal(isReport(parse(message)), true);
    }
  }
});

const mails: readonly (readonly [name: string, message: string])[] = [
  ['a text about a disposition', part('text/plain', 'Disposition: home; follow-up\nFinal-Recipient: SNF')],
  [
    'the same with an attachment',
    multipart('multipart/mixed', part('text/plain', 'Disposition: discharged; home'), documents[0] ?? ''),
  ],
  [
    'a quoted report',
    multipart('multipart/mixed', part('text/plain', `What is this?\n> ${processed}`), documents[0] ?? ''),
  ],
  [
    "somebody else's report, forwarded as a whole",
    `From: carol@direct.beta.example\n${multipart('multipart/mixed', text, part('message/rfc822', from + report))}`,
  ],
  [
    'a forwarded report with a document',
    from + multipart('multipart/mixed', part('message/rfc822', from + report), documents[0] ?? ''),
  ],
  ['a forwarded letter', from + multipart('multipart/mixed', text, part('message/rfc822', `${from}\nhello`))],
  ['no type at all', 'Subject: x\n\nhello'],
];
for (const [name, message] of mails) {
  test(`mail and no report: ${name}`, () => {
    assert.deepEqual([read(message), isReport(parse(message))], [undefined, false]);
    assert.equal(findUnanswered(parse(message), 'bob@direct.beta.example'), undefined);
  });
}

test('RFC 3834 §2, §5: what an automaton sent, or what has no return path, is never answered', () => {
  const why = (headers: string, mailFrom = 'bob@direct.beta.example') =>
    findUnanswered(parse(`${headers}\nx`), mailFrom);
  for (const value of [
    'auto-replied',
    'auto-generated',
    'Auto-Generated',
    'auto-notified; owner-email="a@b"',
    'AUTO-REPLIED (rule)',
    'x-any',
    '(c) auto-replied',
    'yes',
  ])
    assert.equal(why(`Auto-Submitted: ${value}\n`), 'auto-submitted', value);
  for (const value of ['no', 'NO', 'no (a person)', 'no; x=y', ''])
    assert.equal(why(`Auto-Submitted: ${value}\n`), undefined, value);
  assert.equal(why('Auto-Submitted: no\nAuto-Submitted: auto-replied\n'), 'auto-submitted');
  for (const value of ['<>', ' < > ', '<> (none)'])
    assert.equal(why(`Return-Path: ${value}\n`), 'empty-return-path');
  assert.equal(why('Return-Path: <bob@direct.beta.example>\n'), undefined);
  assert.deepEqual([why('', ''), why('')], ['empty-return-path', undefined]);
});

test('a report too deep to be read is still known by its own type', () => {
  const deep = Array.from(
    { length: 200 },
    (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\n\n--b${level}\n`,
  ).join('');
  assert.equal(isReport(parse(deep)), false);
  assert.equal(isReport(parse(deep.replace('multipart/mixed', 'multipart/report'))), true);
});

test('identifiers that a mailer wrote as encoded words or in other quotes, and the next ones instead of none, are read', () => {
  const id = '=?utf-8?q?=3C1=40a=2Eexample=3E?=';
  for (const message of [
    multipart(
      'multipart/report',
      text,
      part('message/disposition-notification', processed.replace('<1@a.example>', id)),
    ),
    `In-Reply-To: ${id}\n${multipart('multipart/report', text, part('message/disposition-notification', processed.replace(/Original-M.*\n/, '')))}`,
    `References: <0@a.example> =?us-ascii?Q?<1=40?= =?us-ascii?Q?a=2Eexample>?=\n${multipart('multipart/report', text, part('message/disposition-notification', processed.replace(/Original-M.*\n/, '')))}`,
    multipart(
      'multipart/report',
      text,
      part('message/disposition-notification', processed.replace('<1@a.example>', '&lt;1@a.example&gt;')),
    ),
    ...['null', '<null>', 'N/A'].map(
      (none) =>
        `In-Reply-To: <1@a.example>\n${multipart('multipart/report', text, part('message/disposition-notification', processed.replace('<1@a.example>', none)))}`,
    ),
    ...["'1@a.example'", '[1@a.example]'].map((quoted) =>
      multipart(
        'multipart/report',
        text,
        part('message/disposition-notification', processed.replace('<1@a.example>', quoted)),
      ),
    ),
    ...[
      "'1@a.example' '2@a.example'",
      '[1@a.example] [2@a.example]',
      '&lt;1@a.example&gt; &lt;2@a.example&gt;',
    ].map(
      (quoted) =>
        `In-Reply-To: ${quoted}\n${multipart('multipart/report', text, part('message/disposition-notification', processed.replace(/Original-M.*\n/, '')))}`,
    ),
    `References: =?utf-8?q?=3C0=40a=2Eexample=3E_=3C1=40a=2Eexample=3E?=\n${multipart('multipart/report', text, part('message/disposition-notification', processed.replace(/Original-M.*\n/, '')))}`,
  ])
    assert.equal(read(message)?.originalMessageIds[0], '<1@a.example>');
});

for (const file of [
  'processed-error-text',
  'report-inside-mixed',
  'mixed-instead-of-report',
  'final-recipient-alias',
]) {
  test(`the found report ${file} is read`, () => {
    const bytes = readFileSync(new URL(`../../../test/fixtures/found/mdn/${file}.eml`, import.meta.url));
    const found = readMdnOrDsn(parseEntity(bytes));
    assert.ok(found?.kind === 'mdn');
    const isFailure = file === 'processed-error-text';
    assert.deepEqual(
      [found.disposition, found.isFailure, found.explanation],
      ['processed', isFailure, isFailure ? 'decryption-failed' : undefined],
    );
  });
}

test('a rewritten media type: the part is the one that begins like a report', () => {
  const rewritten = part('application/octet-stream', processed);
  const type = 'multipart/report; report-type=disposition-notification';
  for (const parts of [
    [text, footer, rewritten],
    [text, rewritten, footer],
  ])
    assert.equal(read(from + multipart(type, ...parts))?.kind, 'mdn');
});
