import { trimBlanks, viewAsBuffer } from '../../core/index.ts';
import type { MimeEntity } from './mime-entity.ts';

/**
 * The octets of the first field of that name as one character each (U+0000 to U+00FF), unfolded, without
 * blanks at both ends: for a value that is sent back as it came, whatever its charset. Undefined without such
 * a field or value.
 */
export function readHeaderOctets(entity: MimeEntity, name: string): string | undefined {
  const field = entity.headerFields.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (field === undefined) return undefined;
  const raw = viewAsBuffer(field.raw).toString('latin1');
  const line = raw
    .slice(raw.indexOf(':') + 1)
    .replace(/\r?\n(?=[ \t])/g, '')
    .replace(/[\r\n\0]/g, ' ');
  const value = trimBlanks(line);
  return value === '' ? undefined : value;
}
