import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findXmlFault } from './find-xml-fault.ts';

const faultOf = (text: string, encoding: BufferEncoding = 'utf8') =>
  findXmlFault(Buffer.from(text, encoding));
const cda = '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>José</title>';

test('finds nothing in well-formed documents of any encoding', () => {
  for (const text of ['<a/>', '<?xml version="1.0"?>\n<a b="c">&amp;</a>\n', `${cda}</ClinicalDocument>`])
    assert.equal(faultOf(text), undefined, text);
  assert.equal(faultOf('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>', 'latin1'), undefined);
  assert.equal(faultOf('\ufeff<a>é</a>', 'utf16le'), undefined);
  assert.equal(faultOf('<x:a>an undeclared prefix is no fault of XML 1.0</x:a>'), undefined);
});

test('reports where a document stops being well formed, without quoting it', () => {
  assert.deepEqual(faultOf('<a>\n<b></a>'), {
    line: 2,
    column: 7,
    isCda: false,
    isBadUtf8: false,
    isExcessive: false,
  });
  for (const text of ['', '<a', 'text', '<a/><b/>', '<a>&nothing;</a>', '<a b=c/>', '<a>\u0001</a>'])
    assert.equal(faultOf(text)?.isCda, false, text);
  assert.deepEqual(Object.keys(faultOf('<a>secret</b>') ?? {}), [
    'line',
    'column',
    'isExcessive',
    'isCda',
    'isBadUtf8',
  ]);
});

test('says whether the document claims to be a clinical document', () => {
  assert.equal(faultOf(cda)?.isCda, true);
  assert.equal(faultOf('<h:ClinicalDocument xmlns:h="urn:hl7-org:v3">')?.isCda, true);
  assert.equal(faultOf('<ClinicalDocument xmlns="urn:other">')?.isCda, false);
});

test('bytes that are not of the encoding are a fault, and the first one is found', () => {
  const faults = { isBadUtf8: true, isExcessive: false };
  const line1 = `${cda}</ClinicalDocument>`;
  assert.deepEqual(faultOf(line1, 'latin1'), { line: 1, column: line1.indexOf('é'), isCda: true, ...faults });
  const declared = Buffer.from(
    '<?xml version="1.0" encoding="UTF-8"?>\r\n<a>\u00e9\ufffd\n\r<b>\ufffd',
    'utf8',
  );
  const bad = (...bytes: number[]) => findXmlFault(Buffer.concat([declared, Buffer.from(bytes)]));
  // The last ones are a replacement character that is cut, and a surrogate.
  for (const bytes of [[0xe9], [0x80, 0x3c], [0xef, 0xbf], [0xef, 0xbf, 0x3c], [0xed, 0xa0, 0x80]])
    assert.deepEqual(bad(...bytes), { line: 4, column: 4, isCda: false, ...faults }, String(bytes));
});

test('a document that no reader can hold is not read on', () => {
  const deep = '<a>'.repeat(1_000_000);
  const wide = `<a ${Array.from({ length: 200_000 }, (_, n) => `a${n}=""`).join(' ')}/>`;
  const longName = `<a${'b'.repeat(1_000_000)}/>`;
  for (const text of [deep, wide, longName, `${cda}${deep}`]) {
    const fault = faultOf(text);
    assert.equal(fault?.isExcessive, true);
    assert.equal(fault.isCda, text.startsWith(cda));
  }
  assert.equal(faultOf(`${'<a>'.repeat(60)}${'</a>'.repeat(60)}`), undefined);
});
