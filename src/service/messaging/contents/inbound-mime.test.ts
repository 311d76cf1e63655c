import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import { defaultXdmCodes, readXdm } from '../../../lib/xdm/index.ts';
import type { InboundContent } from './inbound-document.ts';
import { openDocuments } from './open-documents.ts';

const fixtures = join(import.meta.dirname, '../../../../test/fixtures/found/mime');

const head = 'From: doc@direct.good.example\r\nTo: ehr@direct.own.example\r\nMIME-Version: 1.0\r\n';

function open(message: Uint8Array, isXdm = false): Promise<InboundContent> {
  return openDocuments(message, {
    isXdm,
    facts: {
      copyId: '0190f0a0-0000-7000-8000-000000000001',
      recipient: parseDirectAddress('ehr@direct.own.example'),
      sender: 'doc@direct.good.example',
      wireId: '<r1@direct.good.example>',
      receivedAt: new Date('2026-11-26T22:00:00Z'),
    },
    identity: { hostname: 'hisp.own.example', sourceOid: '1.2.3.4', xdmCodes: defaultXdmCodes },
  });
}

const openFixture = (name: string) => open(readFileSync(join(fixtures, `${name}.eml`)));
const openText = (text: string, isXdm = false) => open(Buffer.from(`${head}${text}`, 'latin1'), isXdm);
const names = ({ documents }: InboundContent) => documents.map(({ fileName }) => fileName);
const contents = ({ documents }: InboundContent) =>
  documents.map(({ content }) => content.toString('latin1').trim());
const reasons = ({ warnings }: InboundContent) => warnings.map(({ field, reason }) => `${field} ${reason}`);
const body = (type: string, bytes: Buffer | string, encoding = '8bit') =>
  open(
    Buffer.concat([
      Buffer.from(`${head}Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`),
      typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
    ]),
  );
const subject = async (value: string) => (await openText(`Subject: ${value}\r\n\r\nx`)).subject;
const withName = (disposition: string, type = 'application/pdf') =>
  openText(
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n--b\r\nContent-Type: ${type}\r\n${disposition === '' ? '' : `Content-Disposition: ${disposition}\r\n`}\r\nx\r\n--b--\r\n`,
  );

describe('text', () => {
  const texts: readonly (readonly [fixture: string, text: string])[] = [
    ['utf16-bom-be', 'Grüße\r\n'],
    ['iso2022jp-but-utf8', 'ほげ\r\n'],
    ['cp932', '患者①\r\n'],
    ['utf7', 'Grüße 37 °C\r\n'],
    ['flowed', 'This is a long paragraph that flows.\r\n>> quoted text\r\n-- \r\nsig\r\n'],
    ['b64-footer', 'hello world\r\n'],
  ];
  for (const [fixture, text] of texts)
    test(`${fixture} is read`, async () => assert.equal((await openFixture(fixture)).body, text));

  const utf16 = (text: string, isBig: boolean) => {
    const bytes = Buffer.from(text, 'utf16le');
    return isBig ? bytes.swap16() : bytes;
  };
  const charsets: readonly (readonly [charset: string, bytes: Buffer, text: string])[] = [
    ['utf-16', utf16('Größe', true), 'Größe'],
    ['utf-16', utf16('\ufeffGröße', false), 'Größe'],
    ['utf-16', utf16('Größe', false), 'Größe'],
    ['utf-16le', utf16('\ufeffGröße', true), 'Größe'],
    ['iso-8859-1', utf16('\ufeffGröße', false), 'Größe'],
    ['utf-16', Buffer.from('Größe'), 'Größe'],
    ['us-ascii', utf16('Größe', false), 'Größe'],
    ['', utf16('Größe', true), 'Größe'],
    ['windows-1252', utf16('Größe “q”', true), 'Größe “q”'],
    ['utf-32', Buffer.from('0000feff00000047000000f6', 'hex'), 'Gö'],
    ['utf-8', Buffer.from('\ufeffGröße'), 'Größe'],
    ['iso-8859-1', Buffer.from('Größe'), 'Größe'],
    ['windows-1252', Buffer.from('“quoted” – 37 °C'), '“quoted” – 37 °C'],
    ['windows-1251', Buffer.from('Größe “q”'), 'Größe “q”'],
    ['gb2312', Buffer.from('中文测试'), '中文测试'],
    ['gb2312', Buffer.from('d6d0cec4', 'hex'), '中文'],
    ['cp936', Buffer.from('d6d0cec4', 'hex'), '中文'],
    ['x-windows-949', Buffer.from('b0a1', 'hex'), '가'],
    ['cp-1252', Buffer.from('93610a94', 'hex'), '“a\n”'],
    ['iso-8859-1', Buffer.from('93', 'hex'), '“'],
    ['8859-1', Buffer.from('e9', 'hex'), 'é'],
    ['en_US.UTF-8', Buffer.from('é'), 'é'],
    ['"utf-8;"', Buffer.from('é'), 'é'],
    ['iso-2022-jp', Buffer.from('\x1b$B45\x1b(B\x1b$B<T\x1b(B'), '患者'],
    ['iso-2022-jp-ms', Buffer.from('\x1b$B45<T\x1b(B'), '患者'],
    ['us-ascii', Buffer.from('\x1b$B45<T\x1b(B'), '患者'],
    ['utf-8', Buffer.from('636166e9', 'hex'), 'café'],
    ['utf-7', Buffer.from('1+1=2, a+-b'), '1+1=2, a+b'],
    ['koi8r', Buffer.from('d0d2c9', 'hex'), 'при'],
    ['cp65001', Buffer.from('é'), 'é'],
    ['cp437', Buffer.from('63616682e1', 'hex'), 'caféß'],
    ['cp-850', Buffer.from('63616682d5', 'hex'), 'caféı'],
    ['IBM852', Buffer.from('88', 'hex'), 'ł'],
    ['cp858', Buffer.from('d5', 'hex'), '€'],
    ['iso-2022-kr', Buffer.from('\x1b$)C\x0eGQ1[\x0f ok\n\x0eGQ\n'), '한글 ok\n한\n'],
    ['hz-gb-2312', Buffer.from('~{<:Ky2;S{~} ok ~~'), '己所不欲 ok ~'],
    ['utf-8  euao6y69zh2w', Buffer.from('é'), 'é'],
    ['eucjp', Buffer.from('c6fccbdc', 'hex'), '日本'],
    ['utf-8', Buffer.from('\x1b$B45<T\x1b(B ok'), '患者 ok'],
    ['utf-8', Buffer.from('price: \x1b$5'), 'price: \x1b$5'],
  ];
  for (const [charset, bytes, text] of charsets) {
    test(`${bytes.toString('hex').slice(0, 24)} as ${charset} is ${JSON.stringify(text)}`, async () => {
      const content = await body(`text/plain; charset=${charset}`, bytes);
      assert.equal(content.body, text);
      assert.deepEqual(content.warnings, []);
    });
  }

  const pages: readonly (readonly [type: string, page: Buffer, end: string])[] = [
    ['', Buffer.from('<meta charset="windows-1251"><p>\xcf\xf0\xe8', 'latin1'), 'При'],
    ['; charset=us-ascii', Buffer.from('<meta charset=koi8-r><p>\xf0\xd2\xc9', 'latin1'), 'При'],
    [
      '; charset=x-none',
      Buffer.from('<meta content="text/html; charset=windows-1251"><p>\xcf', 'latin1'),
      'П',
    ],
    ['', Buffer.from('<?xml version="1.0" encoding="iso-8859-2"?><p>\xb3', 'latin1'), 'ł'],
    ['', Buffer.from('<meta charset="windows-1251"><p>При'), 'При'],
    ['', Buffer.from('<meta charset="utf-16"><p>\xe9', 'latin1'), 'é'],
    ['; charset=iso-8859-1', Buffer.from('<meta charset="windows-1251"><p>\xcf', 'latin1'), 'Ï'],
  ];
  for (const [type, page, end] of pages) {
    test(`HTML${type} of ${page.toString('latin1')} ends in ${end}`, async () => {
      const content = await body(`text/html${type}`, page);
      assert.ok(content.body.endsWith(`>${end}`), content.body);
      assert.deepEqual(content.warnings, []);
    });
  }

  test('one bad octet is one replacement character, and the octets are an attachment', async () => {
    for (const [bytes, text] of [
      [Buffer.from('Gr\u00fc\u00dfe \xff!', 'utf8'), 'Grüße ÿ!'],
      [Buffer.concat([Buffer.from('Grüße '), Buffer.from([0xff]), Buffer.from('!')]), 'Grüße \ufffd!'],
      [Buffer.concat([Buffer.from('é'), Buffer.from([0xe2, 0x82])]), 'é\ufffd'],
      [Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
    ] as const) {
      const content = await body('text/plain; charset=utf-8', bytes);
      assert.equal(content.body, text);
      const isWhole = !text.includes('\ufffd');
      assert.deepEqual(reasons(content), isWhole ? [] : ['messageBody invalid_octets']);
      assert.deepEqual(
        content.documents.map((one) => one.content),
        isWhole ? [] : [bytes],
      );
    }
  });

  test('an unknown charset is told, and the octets are an attachment that is packed in no package', async () => {
    for (const charset of ['x-none', 'iso-2022-cn', 'viscii']) {
      const content = await body(`text/plain; charset=${charset}`, Buffer.from('81e9', 'hex'));
      assert.deepEqual(reasons(content), ['messageBody unknown_charset'], charset);
      assert.deepEqual(
        content.documents.map((one) => [
          one.content.toString('hex'),
          one.charset,
          one.fileName,
          one.isInline,
        ]),
        [['81e9', charset, 'message-body.txt', true]],
      );
    }
    const packed = await openText('Content-Type: text/plain; charset=x-none\r\n\r\n\xe9', true);
    assert.deepEqual([packed.isXdm, names(packed)], [false, ['message-body.txt']]);
  });

  const subjects: readonly (readonly [written: string, read: string])[] = [
    ['=?utf-8?Q?a=0D=0AX-Evil:_1?=', 'a X-Evil: 1'],
    ['=?utf-8?Q?a=00b?=', 'a b'],
    ['=?utf-8?Q?a=E2=80=AEfdp?=', 'afdp'],
    ['=?utf-8?Q?a=E2=81=A6b=E2=80=8Fc=D8=9C?=', 'abc'],
    ['=?utf-8?Q?a=E2=80=A8b=C2=85c?=', 'a b c'],
    ['=?utf-8?B?YQ0KYg==?=', 'a b'],
    ['a\x07b', 'a b'],
    ['=?UTF-8?Q?Hello=20\r\n World?=', 'Hello World'],
    ['=?utf-8?Q?Hello World?=', 'Hello World'],
    ['=?utf-8?Q?Really??=', 'Really?'],
    ['=?ISO-2022-JP?B?GyRCNDU8VCROGyhC?= =?ISO-2022-JP?B?GyRCPlIycD51GyhC?=', '患者の紹介状'],
    ['=?ISO-2022-JP?B?GyRCNDU8VCROGyhC?=\r\n\t=?ISO-2022-JP?Q?abc?=', '患者のabc'],
    ['=?utf-7?Q?Gr+APwA3w-e?=', 'Grüße'],
    ['=?utf-16?B?/v8ARwD2?=', 'Gö'],
    ['=?UTF-8?B?4pyT4p?= =?UTF-8?B?yT?=', '✓✓'],
    ['=?utf-8?Q?=E2=9C?= =?utf-8?Q?=93?=', '✓'],
    ['=?utf-8*en?Q?a?=', 'a'],
    ['=?iso-8859-1?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
    ['=?cp932?B?irOO0g==?=', '患者'],
    ['Gr\xfc\xdfe', 'Grüße'],
    ['\x93Gr\xfc\xdfe\x94', '“Grüße”'],
    ['Gr\xc3\xbc\xc3\x9fe \xc3', 'Grüße \ufffd'],
    ['\x1b$B45<T\x1b(B', '患者'],
    ['=?UTF-8?Q?p=?= =?UTF-8?Q?C5=99=C?=\r\n =?UTF-8?Q?5=99?=', 'přř'],
    ['x =?utf-8?q?y?= z', 'x y z'],
    ['=?x-none?Q?=e9=ff?= x', '=?x-none?Q?=e9=ff?= x'],
    ['=?utf-8?X?a?=', '=?utf-8?X?a?='],
  ];
  for (const [written, read] of subjects)
    test(`the subject ${JSON.stringify(written)} is ${JSON.stringify(read)}`, async () =>
      assert.equal(await subject(written), read));

  test('fixtures of subjects', async () => {
    assert.equal((await openFixture('iso2022jp-split')).subject, '患者の紹介状');
    assert.equal((await openFixture('newline-encoded')).subject, 'a X-Evil: 1');
    assert.equal((await openFixture('nul-encoded')).subject, 'a b');
    assert.equal((await openFixture('folded-inside')).subject, 'Hello World');
  });

  test('a subject in an unknown charset is told', async () => {
    assert.deepEqual(reasons(await openText('Subject: =?x-none?Q?=e9?=\r\n\r\nx')), [
      'messageSubject unknown_charset',
    ]);
    assert.deepEqual(reasons(await openText('Subject: =?x-none?Q?e?= =?utf-8?q?x?=\r\n\r\nx')), []);
  });

  const multipart = (subtype: string, ...parts: string[]) =>
    `Content-Type: multipart/${subtype}; boundary=${subtype}\r\n\r\n${parts.map((part) => `--${subtype}\r\n${part}\r\n`).join('')}--${subtype}--`;
  const plain = 'Content-Type: text/plain\r\n\r\nthe text';
  const blank = 'Content-Type: text/plain\r\n\r\n \r\n';
  const html = 'Content-Type: text/html\r\n\r\n<p>page <img src="cid:Logo%40x"></p>';
  const emptyHtml = 'Content-Type: text/html\r\n\r\n<html><body>&nbsp;</body></html>';
  const logo = 'Content-Type: image/png; name=logo.png\r\nContent-ID: <logo@x>\r\n\r\npng';
  const scan = 'Content-Type: image/jpeg; name=scan.jpg\r\nContent-ID: <scan@x>\r\n\r\njpg';
  const pdf = 'Content-Type: application/pdf; name=a.pdf\r\n\r\npdf';
  const bodies: readonly (readonly [
    name: string,
    message: string,
    type: string,
    start: string,
    inline: readonly string[],
  ])[] = [
    [
      'plain and HTML',
      multipart('alternative', plain, html),
      'text/plain',
      'the text',
      ['attachment-1.html'],
    ],
    ['HTML first', multipart('alternative', html, plain), 'text/plain', 'the text', ['attachment-1.html']],
    ['blank plain', multipart('alternative', blank, html), 'text/html', '<p>page', ['attachment-1.txt']],
    [
      'blank HTML',
      multipart('alternative', emptyHtml, plain),
      'text/plain',
      'the text',
      ['attachment-1.html'],
    ],
    ['HTML alone', html, 'text/html', '<p>page', []],
    ['HTML with a footer', multipart('mixed', html, plain), 'text/html', '<p>page', []],
    ['HTML with its image', multipart('related', html, logo), 'text/html', '<p>page', ['logo.png']],
    ['an image that no HTML shows', multipart('related', html, scan), 'text/html', '<p>page', []],
    ['an image without HTML', multipart('mixed', plain, logo), 'text/plain', 'the text', []],
    [
      'an image outside of the page',
      multipart('mixed', html, logo, pdf),
      'text/html',
      '<p>page',
      ['logo.png'],
    ],
    [
      'nested',
      multipart('mixed', multipart('alternative', plain, multipart('related', html, logo)), pdf),
      'text/plain',
      'the text',
      ['attachment-1.html', 'logo.png'],
    ],
    ['blank, then HTML', multipart('mixed', blank, html), 'text/html', '<p>page', []],
    ['no text', multipart('mixed', pdf), '', '', []],
    ['nothing', '', 'text/plain', '', []],
  ];
  for (const [name, message, type, start, inline] of bodies) {
    test(`the body of ${name}`, async () => {
      const content = await openText(`${message}\r\n`.replace(/^\r\n$/, '\r\n'));
      assert.equal(content.bodyType, type);
      assert.ok(content.body.startsWith(start), content.body);
      assert.deepEqual(
        content.documents.filter(({ isInline }) => isInline).map(({ fileName }) => fileName),
        inline,
      );
    });
  }

  test('what belongs to the text is next to the package, not in it', async () => {
    const nested = multipart('mixed', multipart('alternative', plain, multipart('related', html, logo)), pdf);
    const packed = await openText(`${nested}\r\n`, true);
    assert.equal(packed.isXdm, true);
    assert.deepEqual(names(packed).slice(1), ['attachment-1.html', 'logo.png']);
    const [xdm] = packed.documents;
    const { documents } = await readXdm(xdm?.content ?? Buffer.alloc(0));
    assert.deepEqual(
      documents.map(({ content }) => content.toString()),
      ['pdf'],
    );
  });

  test('fixtures of alternatives', async () => {
    const page = await openFixture('html-only');
    assert.deepEqual([page.bodyType, page.body], ['text/html', '<html><body>Hi <b>Bob</b></body></html>']);
    const choice = await openFixture('alt-empty-plain');
    assert.deepEqual([choice.bodyType, choice.body.trim()], ['text/html', '<p>The real text</p>']);
  });
});

describe('names', () => {
  test('fixtures of names', async () => {
    const long = names(await openFixture('name-long'))[0] ?? '';
    assert.ok(long.endsWith('n.pdf') && Buffer.byteLength(long) === 255, long);
    assert.deepEqual(names(await openFixture('disp-missing-type')), ['x.pdf']);
    assert.deepEqual(names(await openFixture('name-unquoted-parens')), ['Lab (final).pdf']);
    assert.deepEqual(names(await openFixture('name-2047-in-2231-continuation')), ['* 😁😁😁😁😁😁.docx']);
    assert.deepEqual(names(await openFixture('name-none-xml')), ['attachment-1.xml']);
  });

  const given: readonly (readonly [disposition: string, name: string, type?: string])[] = [
    ['attachment; filename="=?UTF-8?B?w6lGYWN0dXJlLnBkZg==?="', 'éFacture.pdf'],
    ['attachment; filename==?UTF-8?B?w6lGYWN0dXJlLnBkZg==?=', 'éFacture.pdf'],
    ['attachment; filename==?iso-8859-1?Q?Lab=2C_2000?=.pdf', 'Lab, 2000.pdf'],
    ['attachment; filename="a =?utf-8?q?=C3=A9?=.pdf"', 'a é.pdf'],
    ["attachment; filename*=utf-8''=?utf-8?q?=C3=A9?=.pdf", 'é.pdf'],
    ["attachment; filename*=UTF-8'en'a%20%C3%A9.pdf", 'a é.pdf'],
    ["attachment; filename=plain.pdf; filename*=utf-8''%C3%A9.pdf", 'é.pdf'],
    ["attachment; filename*=UTF-8'%C3%A9.pdf", 'é.pdf'],
    ["attachment; filename*=x-none''a%20b.pdf", 'a b.pdf'],
    ['attachment; filename=“a b.pdf”', 'a b.pdf'],
    ["attachment; filename*=gbk'a.pdf", 'a.pdf'],
    ["attachment; filename*=O'Brien's.pdf", "O'Brien's.pdf"],
    ["attachment; filename*=O''Brien.pdf", "O''Brien.pdf"],
    ["attachment; filename*=Dr.''s%20letter.pdf", "Dr.''s letter.pdf"],
    ["attachment; filename*=greek's.pdf", "greek's.pdf"],
    ['attachment; filename*1=b.pdf; filename*0=a', 'ab.pdf'],
    ["attachment; filename*0*=utf-8''%C3; filename*1*=%A9.pdf", 'é.pdf'],
    ['=?utf-8?b?YXR0YWNobWVudDsgZmlsZW5hbWU9ICJhIGIucGRmIg==?=', 'a b.pdf'],
    ['attachment; name=a.pdf', 'a.pdf'],
    ["attachment; filename='a b.pdf'", 'a b.pdf'],
    ['attachment; filename="a b.pdf; size=10', 'a b.pdf'],
    ['attachment; filename="a; b.pdf', 'a; b.pdf'],
    ['', 'a Ö.docx', 'application/octet-stream; *name="=?iso-8859-1?Q?a_=D6=2Edocx?="'],
    ['attachment; filename=""', 'attachment-1.pdf'],
    ['attachment; filename="../../etc/passwd.pdf"', 'passwd.pdf'],
    ['attachment; filename="C:\\docs\\a.pdf"', 'a.pdf'],
    ['attachment; filename="a\u202efdp.exe"', 'afdp.exe'],
    ['attachment; filename="=?utf-8?q?a=0D=0Ab.pdf?="', 'a b.pdf'],
    ['attachment; filename="a.pdf" (scanned)', 'a.pdf'],
    ['attachment; filename=a (1).pdf; size=3', 'a (1).pdf'],
    ['attachment; filename=a (1; 2).pdf; size=3', 'a (1; 2).pdf'],
    ['attachment; filename=smile :).pdf', 'smile :).pdf'],
    ['attachment; filename="Lab v1.2"', 'Lab v1.2.pdf'],
    ['attachment; filename=report', 'report.pdf'],
    ['attachment; filename=a.pdf.', 'a.pdf'],
    ['attachment; filename=report', 'report', 'application/octet-stream'],
    ['attachment; filename=report', 'report.xml', 'application/x.foo+xml'],
    ['', 'attachment-1.eml', 'message/rfc822'],
    ['', 'attachment-1.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['', 'attachment-1', 'application/x-unknown'],
    ['', 'a b.pdf', 'application/pdf name="a b.pdf"'],
    ['inline; filename*0=a.xm;\r\n filename*1=l.gz', 'a.xml.gz', 'application/gzip'],
    [`attachment; filename="${'😀'.repeat(100)}.pdf"`, `${'😀'.repeat(62)}.pdf`],
    [`attachment; filename="${'é'.repeat(200)}.xml"`, `${'é'.repeat(125)}.xml`, 'text/xml'],
    [`attachment; filename="${'n'.repeat(300)}"`, `${'n'.repeat(255)}`, 'application/octet-stream'],
    [`attachment; filename="${'n'.repeat(300)}"`, `${'n'.repeat(251)}.pdf`],
  ];
  for (const [disposition, name, type] of given) {
    test(`${JSON.stringify(disposition.slice(0, 60))} of ${type ?? 'a PDF'} is ${JSON.stringify(name.slice(0, 40))}`, async () => {
      const message = `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n--b\r\nContent-Type: ${type ?? 'application/pdf'}\r\n${disposition === '' ? '' : `Content-Disposition: ${disposition}\r\n`}\r\nx\r\n--b--\r\n`;
      assert.deepEqual(names(await open(Buffer.from(message))), [name]);
    });
  }

  test('a name in octets of Latin-1 is read', async () => {
    assert.deepEqual(names(await withName('attachment; filename="\xe9t\xe9.pdf"')), ['été.pdf']);
  });
});

describe('structure', () => {
  for (const fixture of ['boundary-missing-param', 'boundary-trailing-space', 'boundary-encoded-word-like']) {
    test(`${fixture}: the parts are read`, async () => {
      const content = await openFixture(fixture);
      assert.deepEqual([content.body, names(content), contents(content)], ['hello', ['a.xml'], ['<a/>']]);
    });
  }

  test('what comes behind the last delimiter is an attachment', async () => {
    const late = await openFixture('epilogue-attachment');
    assert.deepEqual([late.body, names(late), contents(late)], ['hello', ['late.pdf'], ['x']]);
    const nested = await openFixture('boundary-same-nested');
    assert.equal(nested.body, 'one');
    assert.ok(
      names(nested).includes('a.pdf') &&
        contents(nested).includes('two') &&
        contents(nested).includes('three'),
    );
  });

  test('b64-junk and b64-footer: nothing is decoded behind the padding, which is told', async () => {
    assert.ok((await openFixture('b64-junk')).body.startsWith('Hello'));
    assert.deepEqual(reasons(await openFixture('b64-footer')), ['messageBody text_after_base64']);
  });

  const text = 'Content-Type: text/plain\r\n\r\nhello';
  const xml = 'Content-Type: text/xml; name=a.xml\r\n\r\n<a/>';
  const mixed = (type: string, lines: string) => `Content-Type: multipart/mixed${type}\r\n\r\n${lines}`;
  const parts = (boundary: string, last = `${boundary}--`) =>
    `--${boundary}\r\n${text}\r\n--${boundary}\r\n${xml}\r\n--${last}\r\n`;
  const readable: readonly (readonly [name: string, message: string])[] = [
    ['another boundary', mixed('; boundary=other', parts('XX'))],
    ['a boundary in single quotes', mixed("; boundary='XX'", parts('XX'))],
    ['an empty boundary', mixed('; boundary=""', parts('XX'))],
    ['blanks around the boundary', mixed('; boundary="  XX\t"', parts('XX'))],
    ['blanks behind the delimiters', mixed('; boundary=XX', parts('XX').replaceAll(/(--XX)\r/g, '$1 \t\r'))],
    ['a comment', mixed('; boundary=XX (x; y)', parts('XX'))],
    ['RFC 2231', mixed('; boundary*0=X; boundary*1=X', parts('XX'))],
    ['no semicolon', mixed(' boundary=XX', parts('XX'))],
    ['bare line feeds', mixed('', parts('XX')).replaceAll('\r\n', '\n')],
    ['CR CR LF', mixed('; boundary=XX', parts('XX')).replaceAll('\n', '\r\n')],
    ['delimiters between bare carriage returns', mixed('; boundary=XX', parts('XX').replaceAll('\n', ''))],
    [
      'a part of bare carriage returns',
      mixed('; boundary=XX', parts('XX').replace(xml, xml.replaceAll('\n', ''))),
    ],
    ['a preamble', mixed('; boundary=XX', `This is a multi-part message in MIME format.\r\n${parts('XX')}`)],
    ['no last delimiter', mixed('; boundary=XX', parts('XX').replace(/--XX--\r\n$/, ''))],
    ['an unknown subtype', mixed('; boundary=XX', parts('XX')).replace('mixed', 'x-foo')],
    ['parts without a header', mixed('', `--XX\r\n\r\nhello\r\n--XX\r\n${xml}\r\n--XX--`)],
    [
      'a boundary like an encoded word of base64',
      mixed('; boundary="=?utf-8?B?YWJj?="', parts('=?utf-8?B?YWJj?=')),
    ],
    ['a boundary like one in RFC 2231', mixed("; boundary*=''X%20X", parts('X X'))],
    ['base64 said of it', mixed('; boundary=XX\r\nContent-Transfer-Encoding: base64', parts('XX'))],
    [
      'quoted-printable around it and in it',
      mixed(
        '; boundary=XX\r\nContent-Transfer-Encoding: quoted-printable',
        parts('XX')
          .replaceAll(/=(?=a)/g, '=3D')
          .replace('hello', 'h=65llo'),
      ),
    ],
    [
      'a multipart that nothing fills',
      mixed(
        '; boundary=XX',
        parts('XX').replace('--XX', '--XX\r\nContent-Type: multipart/mixed; boundary=YY\r\n\r\n--XX'),
      ),
    ],
    [
      'quoted-printable around it',
      mixed('; boundary=XX\r\nContent-Transfer-Encoding: quoted-printable', parts('XX')),
    ],
  ];
  for (const [name, message] of readable) {
    test(`the parts are read with ${name}`, async () => {
      const content = await openText(message);
      assert.deepEqual(
        [content.body.trim(), names(content), contents(content)],
        ['hello', ['a.xml'], ['<a/>']],
      );
      assert.deepEqual(content.warnings, []);
    });
  }

  const outside: readonly (readonly [name: string, message: string, contents: readonly string[]])[] = [
    [
      'an epilogue',
      mixed('; boundary=XX', `${parts('XX')}scanned by a gateway\r\n`),
      ['<a/>', 'scanned by a gateway'],
    ],
    [
      'a preamble of its own',
      mixed('; boundary=XX', `Call me today.\r\n${parts('XX')}`),
      ['<a/>', 'Call me today.'],
    ],
    [
      'another round',
      mixed('; boundary=XX', `${parts('XX')}between\r\n${parts('XX')}`),
      ['<a/>', 'hello', '<a/>', 'between'],
    ],
    [
      'an epilogue that looks like a field',
      mixed('; boundary=XX', `${parts('XX')}Note: call\r\n`),
      ['<a/>', 'Note: call'],
    ],
    ['a blank epilogue', mixed('; boundary=XX', `${parts('XX')}\r\n \r\n`), ['<a/>']],
  ];
  for (const [name, message, expected] of outside)
    test(`${name} is kept`, async () => assert.deepEqual(contents(await openText(message)), expected));

  const whole = `${head}Subject: hi\r\n${text}`;
  const lineEnds: readonly (readonly [name: string, message: string, subject: string, body: RegExp])[] = [
    ['CR alone', whole.replaceAll('\n', ''), 'hi', /^hello$/],
    ['CR alone in the header', whole.replaceAll('\n', '').replace('hello', '1\r\n2'), 'hi', /^1\r\n2$/],
    ['CR alone in the body', `${whole}\rthere`, 'hi', /^hello\rthere$/],
    ['CR CR LF', whole.replaceAll('\r', '\r\r'), 'hi', /hello$/],
    ['LF CR', whole.replaceAll('\r\n', '\n\r'), '', /hello$/],
    ['CR NUL', whole.replaceAll('\n', '\0'), '', /hello$/],
    ['NEL', whole.replaceAll('\r\n', '\xc2\x85'), '', /hello$/],
    ['LINE SEPARATOR', whole.replaceAll('\r\n', '\xe2\x80\xa8'), '', /hello$/],
    ['form feeds', whole.replaceAll('\r\n', '\f'), '', /hello$/],
  ];
  for (const [name, message, read, shown] of lineEnds) {
    test(`a text with lines that end in ${name} is shown`, async () => {
      const content = await open(Buffer.from(message, 'latin1'));
      assert.equal(content.subject, read);
      assert.match(content.body, shown);
    });
  }
  test('the parts are read of a message with lines that end in CR alone', async () => {
    const message = `${head}${mixed('; boundary=XX', parts('XX'))}`.replaceAll('\n', '');
    const content = await open(Buffer.from(message, 'latin1'));
    assert.deepEqual([content.body, names(content), contents(content)], ['hello', ['a.xml'], ['<a/>']]);
  });
  test('a bare CR in a field that describes a part is told', async () => {
    const part = xml.replace('\r\n', '\rContent-Transfer-Encoding: base64\r\n');
    const content = await openText(mixed('; boundary=XX', parts('XX').replace(xml, part)));
    assert.deepEqual(reasons(content), ['emailAttachmentList[0] stray_line_end']);
    assert.deepEqual(contents(content), ['<a/>']);
  });

  test('a multipart without any delimiter is the text that its sender wrote', async () => {
    const content = await openText('Content-Type: multipart/alternative; boundary=x\r\n\r\nsome text\r\n');
    assert.deepEqual(
      [content.body, content.bodyType, content.documents],
      ['some text\r\n', 'text/plain', []],
    );
  });

  const cat = 'begin 644 cat.txt\r\n#0V%T\r\n`\r\nend\r\n';
  const encoded: readonly (readonly [
    name: string,
    written: string,
    text: string,
    files: readonly string[],
  ])[] = [
    ['one file', `hello\r\n${cat}bye\r\n`, 'hello\r\nbye\r\n', ['cat.txt=Cat']],
    ['two files', `${cat}${cat.replace('cat.', 'dog.')}`, '', ['cat.txt=Cat', 'dog.txt=Cat']],
    ['a blank as zero', `x\r\n${cat.replace('`', ' ')}`, 'x\r\n', ['cat.txt=Cat']],
    ['no line of zero', `x\r\n${cat.replace('`\r\n', '')}`, 'x\r\n', ['cat.txt=Cat']],
    ['a name with blanks', `x\r\n${cat.replace('cat.txt', 'my cat.txt')}`, 'x\r\n', ['my cat.txt=Cat']],
    ['base64', 'x\r\nbegin-base64 644 cat.txt\r\nQ2F0\r\n====\r\n', 'x\r\n', ['cat.txt=Cat']],
    [
      'words',
      'begin 644 words that end\r\nhere it goes on\r\nend\r\n',
      'begin 644 words that end\r\nhere it goes on\r\nend\r\n',
      [],
    ],
    ['no end', `x\r\n${cat.replace('end\r\n', '')}`, `x\r\n${cat.replace('end\r\n', '')}`, []],
    ['another line', 'begin at 9, end at 10\r\n', 'begin at 9, end at 10\r\n', []],
  ];
  for (const [name, written, read, files] of encoded) {
    test(`uuencode in a text: ${name}`, async () => {
      const content = await openText(`Content-Type: text/plain\r\n\r\n${written}`);
      const found = content.documents.map((one) => `${one.fileName}=${one.content.toString()}`);
      assert.deepEqual([content.body, found], [read, files]);
    });
  }

  test('the first lines of files that never end cost no search for each', async () => {
    const text = 'begin-base64 644 a\r\nQQ==\r\n'.repeat(200_000);
    const content = await openText(`Content-Type: text/plain\r\n\r\n${text}`);
    assert.deepEqual([content.body.length, content.documents], [text.length, []]);
  });

  test('uuencode as a transfer encoding is decoded; an unknown one is told', async () => {
    const part = (encoding: string) =>
      mixed(
        '; boundary=XX',
        `--XX\r\n${text}\r\n--XX\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${cat}--XX--`,
      );
    assert.deepEqual(contents(await openText(part('x-uuencode'))), ['Cat']);
    const unknown = await openText(part('x-none'));
    assert.deepEqual(reasons(unknown), ['emailAttachmentList[0] unknown_encoding']);
    assert.match(contents(unknown)[0] ?? '', /^begin 644/);
  });

  const footers: readonly (readonly [base64: string, content: string, isTold: boolean])[] = [
    ['aGVsbG8=\r\n\r\n-- \r\nThis mail was scanned\r\n', 'hello', true],
    ['aGVsbG8h\r\n\r\n-- \r\nfooter\r\n', 'hello!', true],
    ['aGVsbG8h\r\n_______\r\nlist mailing list\r\n', 'hello!', true],
    ['aGVsbG8=\r\nScanned by X.\r\n', 'hello', true],
    ['aGVsbG8=\r\nDisclaimer\r\n', 'hello', true],
    ['aGVsbG8h\r\n\r\nThis e-mail is confidential.', 'hello!', true],
    ['aGVsbG8=\r\n<p>x</p>', 'hello', true],
    ['aGVsbG8=', 'hello', false],
    ['aGVs\r\n bG8=\r\n\r\n', 'hello', false],
    ['aGVsbG8=\r\naGVsbG8=\r\n', 'hellohello', false],
    ['aGVsbG8h\r\n\r\naGVsbG8h', 'hello!hello!', false],
    ['a*G?Vs!bG8', 'hello', false],
    ['aG-Vs*bG-8=', 'hello', false],
  ];
  for (const [base64, content, isTold] of footers) {
    test(`base64 ${JSON.stringify(base64.slice(0, 30))} is ${content}`, async () => {
      const read = await body('application/pdf; name=a.pdf', base64, 'base64');
      assert.deepEqual(contents(read), [content]);
      assert.deepEqual(reasons(read), isTold ? ['emailAttachmentList[0] text_after_base64'] : []);
    });
  }

  const encodings: readonly (readonly [name: string, written: string, content: string])[] = [
    ['"base64"', 'aGVsbG8=', 'hello'],
    ['Base-64', 'aGVsbG8=', 'hello'],
    ['QuotedPrintable', 'h=65llo', 'hello'],
    ['quoted/printable; x', 'h=65llo', 'hello'],
    ['8-bits', 'h=65llo', 'h=65llo'],
    ['base64', 'aGVs bG8h aGVs bG8h aGVs', 'hello!hello!hel'],
  ];
  for (const [name, written, content] of encodings) {
    test(`the transfer encoding ${name} of ${written} is read`, async () => {
      const read = await body('application/pdf; name=a.pdf', written, name);
      assert.deepEqual([contents(read), read.warnings], [[content], []]);
    });
  }

  test('what is not in the base64 that is named is kept as it is, and told', async () => {
    for (const written of ['Hello, this is plain text.\r\n', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x01\xff']) {
      const read = await body('application/pdf; name=a.pdf', written, 'base64');
      assert.equal(read.documents[0]?.content.toString('latin1'), written);
      assert.deepEqual(reasons(read), ['emailAttachmentList[0] not_encoded']);
    }
  });

  const flowed: readonly (readonly [written: string, read: string])[] = [
    ['a \r\nb\r\n', 'a b\r\n'],
    ['a\r\nb', 'a\r\nb'],
    ['> a \r\n> b', '> a b'],
    ['> a \r\nb', '> a \r\nb'],
    ['>> a \r\n> b', '>> a \r\n> b'],
    [' >a', '>a'],
    [' From here', 'From here'],
    ['a \r\n-- \r\nsig', 'a \r\n-- \r\nsig'],
    ['a \r\n\r\nb', 'a \r\nb'],
    ['a  \r\n b', 'a  b'],
  ];
  for (const [written, read] of flowed)
    test(`format=flowed ${JSON.stringify(written)} is ${JSON.stringify(read)}`, async () =>
      assert.equal((await body('text/plain; format=flowed', written)).body, read));
  test('format=flowed with DelSp, and in HTML', async () => {
    assert.equal((await body('text/plain; Format=Flowed; DelSp=Yes', 'a \r\nb')).body, 'ab');
    assert.equal((await body('text/html; format=flowed', '<p>a \r\nb</p>')).body, '<p>a \r\nb</p>');
  });

  test('a field that is there twice with different values is told', async () => {
    const twice = (fields: string) =>
      mixed('; boundary=XX', `--XX\r\n${text}\r\n--XX\r\n${fields}\r\n\r\nx\r\n--XX--`);
    for (const fields of [
      'Content-Type: text/xml; name=a.xml\r\nContent-Type: application/pdf',
      'Content-Type: text/xml\r\nContent-Transfer-Encoding: 7bit\r\ncontent-transfer-encoding: base64',
      'Content-Type: text/xml\r\nContent-Disposition: inline\r\nContent-Disposition: attachment',
    ])
      assert.deepEqual(
        reasons(await openText(twice(fields))),
        ['emailAttachmentList[0] repeated_field'],
        fields,
      );
    assert.deepEqual(reasons(await openText(twice('Content-Type: text/xml\r\nContent-Type: text/xml'))), []);
    const root = await openText(`Content-Type: text/html\r\n${mixed('; boundary=XX', parts('XX'))}`);
    assert.deepEqual(reasons(root), ['messageBody repeated_field']);
    const outer = await openText(mixed('; boundary=XX\r\nContent-Type: text/html', parts('XX')));
    assert.deepEqual(reasons(outer), ['emailAttachmentList repeated_field']);
  });
});
