import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { recordFields } from '../../service/directory/index.ts';
import { generateProviders } from './sample-directory.ts';

/** Records of the sandbox's directory: enough to meet every kind of query, quick to make. */
const sampleCount = 12_000;
const sampleSeed = 20_261_101;

/**
 * Writes the invented sample directory as a CSV of our own columns, the form that `directory import` takes.
 */
export async function writeSampleDirectory(file: string): Promise<void> {
  const partial = `${file}.partial`;
  await pipeline(Readable.from(formatLines()), createWriteStream(partial));
  await rename(partial, file);
}

function* formatLines(): Generator<string> {
  yield `${recordFields.map((field) => field.wireName).join(',')},lat,lng\n`;
  for (const record of generateProviders({
    count: sampleCount,
    seed: sampleSeed,
    gazetteer: loadBuiltInGazetteer(),
  })) {
    const texts = recordFields.map(({ field }) => quote(record[field]));
    yield `${texts.join(',')},${record.latitude ?? ''},${record.longitude ?? ''}\n`;
  }
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
