import { isXdm, readMetadata, readXdm, sniffCcda, XdmError } from '../../src/lib/xdm/index.ts';
import { writeZip } from '../../src/lib/xdm/build-xdm.ts';
import { main, type FuzzTarget } from './fuzz.ts';

const tokens = [
  'PK\x01\x02',
  'PK\x03\x04',
  'PK\x05\x06',
  'PK\x06\x06',
  '\0\0',
  '\xff\xff\xff\xff',
  '\x08\0',
  'IHE_XDM/',
  'SUBSET01',
  'METADATA.XML',
  '../',
  '\\',
  '/',
  '<ExtrinsicObject id="a">',
  '</ExtrinsicObject>',
  '<Slot name="URI">',
  '<Value>',
  '</Value>',
  '<!DOCTYPE a [',
  '<!ENTITY b "c">',
  '&b;',
  '&#0;',
  '<![CDATA[',
  ']]>',
  'xmlns:a="b"',
  '<a:b>',
  '"',
  '<',
  '>',
  '%2f',
  '\xfe\xff',
  'encoding="utf-16"',
  '<ClinicalDocument xmlns="urn:hl7-org:v3">',
  '<effectiveTime value="2012"/>',
];

async function run(bytes: Buffer): Promise<string> {
  isXdm(bytes);
  sniffCcda(bytes);
  readMetadata(bytes);
  try {
    const { documents, warnings } = await readXdm(await packageOf(bytes), {
      maxEntryBytes: 5_000_000,
      maxTotalBytes: 20_000_000,
    });
    for (const { fileName, content } of documents) {
      if (/[/\\\p{Cc}]/u.test(fileName) || fileName === '..') throw new Error('a file name is unsafe');
      sniffCcda(content);
    }
    return warnings.join(' ') || 'clean';
  } catch (error) {
    if (error instanceof XdmError) return error.code;
    throw error;
  }
}

/** Damage to an archive mostly makes it unreadable; so damaged metadata are put into a sound one. */
async function packageOf(bytes: Buffer): Promise<Buffer> {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) return bytes;
  const names = [
    'INDEX.HTM',
    'README.TXT',
    'IHE_XDM/SUBSET01/METADATA.XML',
    'IHE_XDM/SUBSET01/A.XML',
    'IHE_XDM/SUBSET01/DOC00002.PDF',
  ];
  return writeZip(
    names.map((name) => ({ name, content: bytes })),
    new Date(0),
  );
}

export const xdmTarget: FuzzTarget = { name: 'xdm', tokens, run };

if (import.meta.main) await main(xdmTarget, process.argv.slice(2));
