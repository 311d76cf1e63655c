/** Builds an XDM package of one document, the attachment by which Direct carries documents with metadata, and reads it. */
import { buildXdm, readXdm } from '../src/lib/xdm/index.ts';

const zip = await buildXdm({
  from: 'alice@direct.alpha.example',
  to: ['bob@direct.beta.example'],
  messageUuid: '9f1c1d0e-7a55-4d38-9d57-0f2f6f0b8a11',
  subject: 'Discharge summary',
  sourceId: '1.3.6.1.4.1.21367.2010.1.2',
  patientId: '4711',
  assigningAuthority: '1.3.6.1.4.1.21367.2010.1.3',
  loinc: { value: '18842-5', name: 'Discharge summary' },
  documents: [{ mediaType: 'text/plain', fileName: 'summary.txt', content: Buffer.from('Went home well.') }],
  at: new Date(),
});
console.log(`a ZIP archive of ${zip.length > 0 ? 'one document' : 'nothing'}`);

const { documents, metadataLevel, warnings } = await readXdm(zip);
for (const { fileName, mediaType, typeCode, content } of documents)
  console.log(`${fileName} (${mediaType}, ${typeCode?.displayName}): ${content.toString()}`);
console.log(`metadata: ${metadataLevel}; warnings: ${warnings.join(', ') || 'none'}`);
