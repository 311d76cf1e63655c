import assert from 'node:assert/strict';
import { test } from 'node:test';
import PostalMime from 'postal-mime';
import { buildMessage } from './build-message.ts';
import { collectParts } from './collect-parts.ts';
import { parseEntity } from './mime-entity.ts';

const messageWith = (fileName: string): Buffer =>
  buildMessage({
    from: 'a@direct.alpha.example',
    to: ['b@direct.beta.example'],
    date: new Date(0),
    messageId: '<1@direct.alpha.example>',
    text: 'x',
    attachments: [{ mediaType: 'application/pdf', content: Buffer.from('x'), fileName }],
  });

const ascii = [
  'a.pdf',
  'Summary of care.xml',
  `${'Very long name of a summary of care '.repeat(5)}.pdf`,
  `${'x'.repeat(240)}.pdf`,
  `${'y z '.repeat(200)}.pdf`,
  'CCD (1) [final]; v=2, "draft".xml',
  'back\\slash.txt',
  "it's 100% done.txt",
  "O'Brien's.pdf",
  '100%.pdf',
  'a=b;c=d.txt',
  '.hidden',
  'no extension',
  'two  blanks.pdf',
];
const other: readonly (readonly [name: string, plain: string])[] = [
  ['Überweisung für Patient.pdf', 'Uberweisung fur Patient.pdf'],
  ['患者の紹介状.pdf', 'document.pdf'],
  ['Łódź – wyniki.xml', 'Lodz - wyniki.xml'],
  ['Großer Befund.txt', 'Grosser Befund.txt'],
  ['São Paulo.xml', 'Sao Paulo.xml'],
  ['résumé.docx', 'resume.docx'],
  ['Smørrebrød.csv', 'Smorrebrod.csv'],
  ['ﬁle.pdf', 'file.pdf'],
  ['x\u{1f4a5}y.pdf', 'x_y.pdf'],
  ['\u{1f4a5}.pdf', 'document.pdf'],
  ['مريض.xml', 'document.xml'],
  ['Отчёт 2026.pdf', '_ 2026.pdf'],
  ['tab\tname.pdf', 'tab_name.pdf'],
  ['é"quoted"\\.pdf', 'e_quoted__.pdf'],
  ['=?utf-8?q?a?=.pdf', '_utf-8?q?a?=.pdf'],
  [`${'é'.repeat(120)}.pdf`, `${'e'.repeat(120)}.pdf`],
  [`${'世'.repeat(80)} scan.tiff`, '_ scan.tiff'],
  [`${'é'.repeat(250)}.pdf`, `${'e'.repeat(150)}.pdf`],
  [`${'x'.repeat(995)}.pdf`, `${'x'.repeat(150)}.pdf`],
  ['lone \ud800 surrogate.pdf', 'lone _ surrogate.pdf'],
  ['é.PDF', 'e.PDF'],
  ['é.tar.gz', 'e.tar.gz'],
  ['é', 'e'],
];

/** A reader that knows neither RFC 2231 nor folding inside of quotes. */
function readSimply(message: Buffer): (string | undefined)[] {
  const lines = message.toString('latin1').split('\r\n');
  return ['filename', 'name'].map((name) => {
    const line = lines.find((one) => new RegExp(`(?:^|[ ;])${name}=`).test(one)) ?? '';
    const value = new RegExp(`(?:^|[ ;])${name}=("(?:[^"\\\\]|\\\\.)*"|[^; ]+)`).exec(line)?.[1];
    return value?.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  });
}

const attachmentName = (message: Buffer): string | undefined =>
  collectParts(parseEntity(message)).at(1)?.fileName;

for (const name of ascii.filter((one) => one.length < 900)) {
  test(`a file name of ASCII is one value, and the only one: ${name.slice(0, 40)}`, async () => {
    const message = messageWith(name);
    assert.deepEqual(readSimply(message), [name, name]);
    assert.doesNotMatch(message.toString('latin1'), /name\*/);
    // Outside of quotes some take these for RFC 2231's.
    assert.doesNotMatch(message.toString('latin1'), /name=[^"\r\n;]*['*%]/);
    assert.ok(
      message
        .toString('latin1')
        .split('\r\n')
        .every((line) => line.length <= 998),
    );
    const [attachment] = (await PostalMime.parse(message)).attachments;
    assert.equal(attachment?.filename, name);
  });
}

for (const [name, plain] of other) {
  test(`another file name has a plain form as well: ${name.slice(0, 40)}`, async () => {
    const message = messageWith(name);
    assert.deepEqual(readSimply(message), [plain, plain]);
    assert.match(message.toString('latin1'), /[ ;]filename\*(?:0\*)?=UTF-8''/);
    assert.ok(message.every((byte) => byte < 0x80));
    assert.ok(
      message
        .toString('latin1')
        .split('\r\n')
        .every((line) => line.length <= 998),
    );
    const read = parseEntity(message).parts[1];
    assert.equal(read?.disposition?.parameters.get('filename'), name.toWellFormed());
    assert.equal(read?.contentType.parameters.get('name'), name.toWellFormed());
    const [attachment] = (await PostalMime.parse(message)).attachments;
    // This reader decodes encoded words even there.
    if (!name.includes('=?')) assert.equal(attachment?.filename, name.toWellFormed());
  });
}

test('folding happens between parameters only, and short fields stay in one line', () => {
  assert.match(messageWith('a.pdf').toString(), /^Content-Disposition: attachment; filename=a\.pdf\r$/m);
  assert.match(
    messageWith(`${'long name '.repeat(12)}.pdf`).toString(),
    /^Content-Disposition: attachment;\r\n filename="(?:long name ){12}\.pdf"\r$/m,
  );
  assert.equal(
    attachmentName(messageWith(`${'long name '.repeat(12)}.pdf`)),
    `${'long name '.repeat(12)}.pdf`,
  );
});
