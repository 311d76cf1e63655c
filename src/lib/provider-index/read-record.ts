import { textFields, type ProviderRecord, type TextField } from '../provider-record/index.ts';
import type { RecordCursor } from './record-cursor.ts';
import type { TextColumn } from './text-column.ts';

/** Reads records as they were put in. */
export function readFormat(cursor: RecordCursor): (at: number, read: ProviderRecord[]) => void {
  const fields = textFields.map((name) => ({ name, field: cursor.field(name) }));
  return (_at, read) => {
    const texts = fields.map(({ name, field }): [TextField, string] => [name, plainText(field.text)]);
    const { id, latitude, longitude, changedAt } = cursor;
    read.push({
      id,
      ...(Object.fromEntries(texts) as Record<TextField, string>),
      ...(latitude !== undefined && longitude !== undefined && { latitude, longitude }),
      ...(changedAt > 0 && { changedAt }),
    });
  };
}

/** A text from between the quotes of JSON. */
function plainText(json: string): string {
  return json.includes('\\') ? (JSON.parse(`"${json}"`) as string) : json;
}

/** The text of a record in a column of digits, which folding does not change; cheaper than its bytes. */
export function readDigits({ codes, scratch, loadFolded }: TextColumn, row: number): string {
  const length = loadFolded(codes[row] as number);
  let text = '';
  for (let at = 0; at < length; at++) text += String.fromCharCode(scratch[at] as number);
  return text;
}
