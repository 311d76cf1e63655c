import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fixturesDir } from '../../../test/support/fixtures.ts';
import { parseEntity } from '../mime/index.ts';
import { finalDeliveryHeaders, requestsFinalDelivery } from './final-delivery.ts';
import type { Dsn, Mdn } from './mdn-or-dsn.ts';
import { isReport } from './find-report.ts';
import { readMdnOrDsn } from './read-mdn-or-dsn.ts';

const report = (type: string, ...fields: string[]): string =>
  [
    `From: Bob <bob@direct.beta.example>`,
    'In-Reply-To: <reply@a.example>',
    'References: <far@a.example> <near@a.example>',
    `Content-Type: multipart/report; boundary=b; report-type=${type}`,
    '',
    '--b',
    '',
    'text',
    '--b',
    `Content-Type: message/${type}`,
    '',
    ...fields,
    '--b--',
    '',
  ].join('\r\n');

function mdnOf(...fields: string[]): Mdn {
  const mdn = readMdnOrDsn(parseEntity(Buffer.from(report('disposition-notification', ...fields))));
  assert.ok(mdn?.kind === 'mdn');
  return mdn;
}

function dsnOf(...fields: string[]): Dsn {
  const dsn = readMdnOrDsn(parseEntity(Buffer.from(report('delivery-status', ...fields))));
  assert.ok(dsn?.kind === 'dsn');
  return dsn;
}

const plain = [
  'Reporting-UA: beta; x',
  'Final-Recipient: rfc822;bob@direct.beta.example',
  'Original-Message-ID: <1@a.example>',
  'Disposition: automatic-action/MDN-sent-automatically; processed',
];
const variants: [name: string, fields: string[]][] = [
  [
    'different case',
    plain.map((line) =>
      line
        .toUpperCase()
        .replace('<1@A.EXAMPLE>', '<1@a.example>')
        .replace('BOB@DIRECT.BETA', 'bob@direct.beta')
        .replace('EXAMPLE', 'example'),
    ),
  ],
  ['extra spaces', plain.map((line) => line.replace(':', '  :   ').replace(';', '  ;   ').concat('   '))],
  ['extra line breaks', plain.flatMap((line) => [line, '', ''])],
  ['white space before fields', plain.map((line) => ` \t${line}`)],
  ['folded lines', plain.map((line) => line.replace(': ', ':\r\n  ').replace(';', ';\r\n\t'))],
  ['bare LF', [plain.join('\n')]],
  [
    'slashes with blanks',
    plain.map((line) => line.replace('automatic-action/MDN', 'automatic-action / MDN')),
  ],
  ['no type before the address', plain.map((line) => line.replace('rfc822;', ''))],
  [
    'display name in Final-Recipient',
    plain.map((line) => line.replace('rfc822;', 'rfc822; "Bob, B" <').replace(/(Final.*example)$/, '$1>')),
  ],
  ['identifier without brackets', plain.map((line) => line.replace(/[<>]/g, ''))],
  ['identifier folded inside', plain.map((line) => line.replace('<1@a', '<1@\r\n a'))],
];

for (const [name, fields] of variants) {
  test(`MDN-22: read with ${name}`, () => {
    const mdn = mdnOf(...fields);
    assert.equal(mdn.disposition, 'processed');
    assert.equal(mdn.finalRecipient, 'bob@direct.beta.example');
    assert.deepEqual(mdn.originalMessageIds, ['<1@a.example>']);
    assert.equal(mdn.isFailure, false);
  });
}

test('MDN-22: without a Disposition, or with an unknown one, nothing is confirmed', () => {
  assert.equal(mdnOf(...plain.slice(0, 3)).disposition, undefined);
  assert.equal(
    mdnOf(...plain.slice(0, 3), 'Disposition: automatic-action/MDN-sent-automatically; splendid').disposition,
    undefined,
  );
  assert.equal(mdnOf().disposition, undefined);
  const empty = readMdnOrDsn(
    parseEntity(
      Buffer.from(
        'Content-Type: multipart/report; report-type=disposition-notification; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b--',
      ),
    ),
  );
  assert.ok(empty?.kind === 'mdn' && empty.disposition === undefined);
});

test('MDN-21: In-Reply-To counts only without Original-Message-ID, References only without both', () => {
  assert.deepEqual(mdnOf(...plain).originalMessageIds, ['<1@a.example>']);
  assert.deepEqual(mdnOf(plain[1] ?? '').originalMessageIds, ['<reply@a.example>']);
  const message = report('disposition-notification', plain[1] ?? '').replace(
    'In-Reply-To: <reply@a.example>\r\n',
    '',
  );
  assert.deepEqual(readMdnOrDsn(parseEntity(Buffer.from(message)))?.originalMessageIds, [
    '<near@a.example>',
    '<far@a.example>',
  ]);
});

test('MDN-24: final delivery is confirmed by dispatched with the extension field, in any case, and by nothing else', () => {
  const confirms = (disposition: string, ...more: string[]): boolean =>
    mdnOf(
      ...plain.slice(0, 3),
      `Disposition: automatic-action/MDN-sent-automatically;${disposition}`,
      ...more,
    ).confirmsFinalDelivery;
  assert.equal(confirms('dispatched', 'X-DIRECT-FINAL-DESTINATION-DELIVERY:'), true);
  assert.equal(confirms('Dispatched', 'x-direct-final-destination-delivery: '), true);
  assert.equal(confirms('dispatched'), false);
  assert.equal(confirms('processed', 'X-DIRECT-FINAL-DESTINATION-DELIVERY:'), false);
  assert.equal(confirms('failed', 'X-DIRECT-FINAL-DESTINATION-DELIVERY:'), false);
});

test('dispositions of older texts and modifiers are distinguished', () => {
  const read = (disposition: string): [string | undefined, boolean] => {
    const mdn = mdnOf(`Disposition: automatic-action/MDN-sent-automatically;${disposition}`);
    return [mdn.disposition, mdn.isFailure];
  };
  assert.deepEqual(read('failed'), ['failed', true]);
  assert.deepEqual(read('denied'), ['denied', true]);
  assert.deepEqual(read('deleted'), ['deleted', false]);
  assert.deepEqual(read('displayed (by hand)'), ['displayed', false]);
  assert.deepEqual(read('processed/error'), ['processed', true]);
  assert.deepEqual(read('processed / warning, error'), ['processed', true]);
  assert.deepEqual(read('constructor'), [undefined, false]);
});

test('MDN-02: every report is known as one; ordinary mail is not', () => {
  const isReportText = (text: string): boolean => isReport(parseEntity(Buffer.from(text)));
  assert.equal(
    isReportText('Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b--'),
    true,
  );
  assert.equal(isReportText('Content-Type: message/disposition-notification\r\n\r\nDisposition: x'), true);
  assert.equal(
    isReportText('Content-Type: text/plain\r\n\r\nFinal-Recipient: rfc822;a@b\r\nDisposition: a;b'),
    false,
  );
  assert.equal(
    readMdnOrDsn(
      parseEntity(
        Buffer.from('Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b--'),
      ),
    ),
    undefined,
  );
  assert.equal(
    readMdnOrDsn(parseEntity(Buffer.from('Subject: hello\r\n\r\nDisposition: processed'))),
    undefined,
  );
});

test('fields among the header fields of the part, and encoded parts, are read', () => {
  const inHeader =
    'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/disposition-notification\r\nDisposition: a/b;processed\r\n--b--';
  const encoded = `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/disposition-notification\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from('Disposition: a/b;processed').toString('base64')}\r\n--b--`;
  for (const text of [inHeader, encoded]) {
    const mdn = readMdnOrDsn(parseEntity(Buffer.from(text)));
    assert.ok(mdn?.kind === 'mdn' && mdn.disposition === 'processed');
  }
});

test('a report part under a foreign media type is known by its fields', () => {
  const retyped = (type: string, text: string): string =>
    text.replace(`Content-Type: message/${type}`, 'Content-Type: application/octet-stream; name=status.dat');
  const mdn = readMdnOrDsn(
    parseEntity(
      Buffer.from(retyped('disposition-notification', report('disposition-notification', ...plain))),
    ),
  );
  assert.ok(mdn?.kind === 'mdn' && mdn.disposition === 'processed');
  const fields = ['Reporting-MTA: dns;mx', '', 'Final-Recipient: rfc822;a@b.example', 'Action: failed'];
  const dsn = readMdnOrDsn(
    parseEntity(Buffer.from(retyped('delivery-status', report('delivery-status', ...fields)))),
  );
  assert.ok(dsn?.kind === 'dsn' && dsn.recipients[0]?.isFailure === true);
});

test('DSN-02: recipients, in one block each or with blank lines between all fields', () => {
  const fields = [
    'Final-Recipient: RFC822; Bob@direct.beta.example',
    'Action: Failed',
    'Status: 5.1.1 (unknown)',
  ];
  const more = [
    'Original-Recipient: rfc822;c@d.example',
    'Final-Recipient: rfc822;carol@d.example',
    'Action: delayed',
    'Status: 4.4.1',
  ];
  for (const text of [
    ['Reporting-MTA: dns; mx', '', ...fields, '', ...more],
    ['Reporting-MTA: dns; mx', ...fields, '', ...more].flatMap((line) => [line, '']),
    ['Reporting-MTA: dns; mx', ...fields, '', ...more],
  ]) {
    const dsn = dsnOf(...text);
    assert.equal(dsn.reportingMta, 'mx');
    assert.deepEqual(
      dsn.recipients.map((one) => [one.finalRecipient, one.action, one.status, one.isFailure]),
      [
        ['Bob@direct.beta.example', 'failed', '5.1.1', true],
        ['carol@d.example', 'delayed', '4.4.1', false],
      ],
    );
  }
});

test('DSN-03: X-Original-Message-ID, In-Reply-To, returned headers and Original-Envelope-ID are all accepted', () => {
  assert.deepEqual(
    dsnOf('X-Original-Message-Id: <1@a.example>', 'Original-Envelope-ID: Q1').originalMessageIds,
    ['<1@a.example>', '<Q1>'],
  );
  assert.deepEqual(dsnOf('Reporting-MTA: dns; mx').originalMessageIds, ['<reply@a.example>']);
  const returned =
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nAction: failed\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <1@a.example>\r\n--b--';
  assert.deepEqual(readMdnOrDsn(parseEntity(Buffer.from(returned)))?.originalMessageIds, ['<1@a.example>']);
});

test('a DSN without action and status is no failure by itself', () => {
  assert.equal(dsnOf('', 'Final-Recipient: rfc822;a@b.example').recipients[0]?.isFailure, false);
  assert.equal(
    dsnOf('', 'Final-Recipient: rfc822;a@b.example', 'Status: 5.0.0').recipients[0]?.isFailure,
    true,
  );
});

test('MDN-09, MDN-11: final delivery is asked for by one well-formed option only', () => {
  const asks = (...values: string[]): boolean =>
    requestsFinalDelivery(
      parseEntity(
        Buffer.from(
          `${values.map((value) => `Disposition-Notification-Options: ${value}\r\n`).join('')}\r\n`,
        ),
      ),
    );
  for (const value of [
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
    'x-direct-final-destination-delivery = Optional , TRUE',
    'other=optional,a;X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true;',
  ])
    assert.equal(asks(value), true, value);
  for (const value of [
    '',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=true',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,false',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY:optional,true',
    'X-DIRECT-FINAL-DESTINATION-DELIVER=optional,true',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=maybe,true',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true;rubbish',
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true;X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,false',
  ])
    assert.equal(asks(value), false, value);
  assert.equal(
    asks(
      'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
      'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
    ),
    false,
  );
  assert.equal(asks(), false);
});

test('MDN-20: the request for final delivery is two headers, and is understood by the reader', () => {
  const headers = finalDeliveryHeaders('alice@direct.alpha.example');
  assert.deepEqual(headers, [
    ['Disposition-Notification-To', 'alice@direct.alpha.example'],
    ['Disposition-Notification-Options', 'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true'],
  ]);
  assert.equal(
    requestsFinalDelivery(
      parseEntity(Buffer.from(`${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)),
    ),
    true,
  );
});

test('hostile reports are read in bounded time and memory', () => {
  const long = mdnOf(...Array.from({ length: 50_000 }, (_, index) => `X-${index}: a`));
  assert.ok(long.extensions.size <= 2000);
  assert.ok(
    dsnOf(...Array.from({ length: 20_000 }, () => 'Final-Recipient: rfc822;a@b\r\n')).recipients.length <=
      2001,
  );
  assert.equal(mdnOf(`Disposition: ${'('.repeat(50_000)}`).disposition, undefined);
  assert.equal(
    mdnOf('Disposition: a', ...Array.from({ length: 20_000 }, () => ' ;processed')).disposition,
    'processed',
  );
});

const samples = join(fixturesDir() ?? '', 'reference-data');
const needsSamples = {
  skip: fixturesDir() !== undefined && existsSync(samples) ? false : 'the reference data is missing',
};
const read = (path: string): ReturnType<typeof readMdnOrDsn> =>
  readMdnOrDsn(parseEntity(readFileSync(join(samples, path))));
const reference = '<9501051053.aa04167@IETF.CNRI.Reston.VA.US>';

test(
  'MDN-21, MDN-22: all disposition notifications of the Java reference implementation are read',
  needsSamples,
  () => {
    const seen = (path: string): unknown[] => {
      const mdn = read(path);
      return mdn?.kind === 'mdn'
        ? [mdn.disposition, mdn.finalRecipient, mdn.originalMessageIds[0], mdn.confirmsFinalDelivery]
        : [];
    };
    const model = 'java-msg-monitor-model/messages';
    const who = 'externUser1@starugh-stateline.com';
    assert.deepEqual(seen(`${model}/MDNMessage.txt`), ['processed', who, reference, false]);
    assert.deepEqual(seen(`${model}/MDNMessageNoDisp.txt`), [undefined, who, reference, false]);
    assert.deepEqual(seen(`${model}/MDNMessageNoFinalRecip.txt`), ['processed', undefined, reference, false]);
    assert.deepEqual(seen(`${model}/MDNMessageFriendlyNameFinalRecip.txt`), [
      'processed',
      who,
      reference,
      false,
    ]);
    assert.deepEqual(seen(`${model}/MDNMessageOrigInReplyTo.txt`), ['processed', who, reference, false]);
    assert.deepEqual(seen(`${model}/MDNDispatchedTimeAndReliable.txt`), ['dispatched', who, reference, true]);
    assert.deepEqual(seen(`${model}/MDNDispatchedTimeAndReliableLowerCaseOption.txt`), [
      'dispatched',
      who,
      reference,
      true,
    ]);
    assert.deepEqual(seen('java-msg-monitor/messages/MDNMessage.txt'), ['processed', who, reference, false]);
    assert.deepEqual(seen('java-agent/messages/MDNMessage.txt'), ['processed', who, reference, false]);
    assert.deepEqual(seen('java-agent/messages/MDNMessageNonCanonicalized.txt'), [
      'processed',
      'llindsey@messaging.cernerdemos.com',
      reference,
      false,
    ]);
    assert.deepEqual(seen('java-agent/messages/MDNResponse.txt'), ['processed', undefined, undefined, false]);
    assert.deepEqual(seen('java-gateway/messages/MDNDispatchedMessage.txt'), [
      'dispatched',
      who,
      reference,
      true,
    ]);
    const other = '<1087135417.35.1502195576436.JavaMail.root@ip-172-31-10-81>';
    assert.deepEqual(seen('trust-utils/messages/AthenaProcessed.txt'), [
      'processed',
      'doctor.tester.1@1959.direct.athenahealth.com',
      other,
      false,
    ]);
    assert.deepEqual(seen('trust-utils/messages/AthenaDispatch.txt'), [
      'dispatched',
      'doctor.tester.1@1959.direct.athenahealth.com',
      other,
      true,
    ]);
  },
);

test(
  'DSN-03: all delivery status notifications of the Java and .NET reference implementations are read',
  needsSamples,
  () => {
    for (const folder of ['java-msg-monitor-model/messages', 'dotnet/common/dsn']) {
      for (const [file, isFailure] of [
        ['DSNMessage', true],
        ['DSNMessageOrigInReplyTo', true],
        ['DSNMessageNoActionOrStatus', false],
      ] as const) {
        const dsn = read(`${folder}/${file}.txt`);
        assert.ok(dsn?.kind === 'dsn');
        assert.equal(dsn.originalMessageIds[0], reference);
        assert.deepEqual(
          dsn.recipients.map((one) => [one.finalRecipient, one.isFailure]),
          [['Carol@Ivory.EDU', isFailure]],
        );
      }
    }
  },
);
