/**
 * How records are stored: lines of text in blocks, and their keys and hashes.
 * Used by any folder of `service/directory`.
 * Begin with this format of a line, then `block.ts`.
 */
import {
  providerFields,
  textFields,
  type ProviderField,
  type TextField,
} from '../../../lib/provider-record/index.ts';

/**
 * Format of a stored record as a line of text: its fields separated by tabs in the order of the table, then
 * latitude and longitude, empty if unknown. Adding a field to the table makes a new version of the line;
 * older ones stay readable.
 */
export interface RecordLayout {
  /** The version that is written. */
  readonly version: number;
  /**
   * Converts a line of an older version to this one: fields that the older version lacks are blank. Throws
   * for a newer one.
   */
  upgrade(line: string, version: number): string;
}

export function createRecordLayout(fields: readonly Pick<ProviderField, 'field' | 'since'>[]): RecordLayout {
  const current = Math.max(...fields.map(({ since }) => since));
  return {
    version: current,
    upgrade(line, version) {
      if (version === current || line === '') return line;
      if (version > current)
        throw new TypeError(`A stored record has version ${version}, this program reads up to ${current}.`);
      const parts = line.split('\t');
      let next = 0;
      const texts = fields.map(({ since }) => (since <= version ? (parts[next++] ?? '') : ''));
      return [...texts, ...parts.slice(next)].join('\t');
    },
  };
}

export const recordLayout = createRecordLayout(providerFields);

const positions = new Map(providerFields.map(({ field }, at): [TextField, number] => [field, at]));

/** One field of a line. */
export function textOf(line: string, field: TextField): string {
  const position = positions.get(field) as number;
  return line.split('\t', position + 1)[position] ?? '';
}

/** All fields of a line. */
export function textsOf(line: string): Record<TextField, string> {
  return Object.fromEntries(textFields.map((field) => [field, textOf(line, field)])) as Record<
    TextField,
    string
  >;
}

const versionMark = /^v([0-9]+)\t/;

/** The line as a hosted row stores it. */
export function markLine(line: string): string {
  return `v${recordLayout.version}\t${line}`;
}

/** The line of a hosted row of any version; empty for a removed address. */
export function readMarkedLine(record: string, layout = recordLayout): string {
  if (record === '') return '';
  const mark = versionMark.exec(record);
  if (mark === null) throw new TypeError('A hosted record has no version.');
  return layout.upgrade(record.slice(mark[0].length), Number(mark[1]));
}
