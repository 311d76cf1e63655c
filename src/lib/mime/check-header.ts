import { viewAsBuffer } from '../../core/index.ts';
import type { MimeEntity } from './mime-entity.ts';

/**
 * Why two readers may see different fields in this header section, in words; undefined if they cannot: NUL, a
 * bare CR, bare LF among CRLF (RFC 5322 §2.2), or a From or Sender field behind a line that is not a field,
 * or behind one of blanks, which some take for the end.
 */
export function findHeaderAmbiguity(entity: MimeEntity): string | undefined {
  const bytes = viewAsBuffer(entity.bytes);
  const bodyStart = bytes.length - entity.bodyBytes.length;
  const header = bytes.toString('latin1', 0, bodyStart);
  if (header.includes('\0')) return 'NUL in the header';
  if (/\r(?!\n)/.test(header)) return 'a bare CR in the header';
  if (header.includes('\r\n') && /(?<!\r)\n/.test(header)) return 'both CRLF and bare LF in the header';
  const blankLine = /\n[ \t]+\r?\n/.exec(header);
  if (blankLine !== null && senderField.test(header.slice(blankLine.index)))
    return 'a From or Sender field behind a line of blanks';
  const isEnded = bodyStart === bytes.length || /(?:^|\n)\r?\n$/.test(header);
  if (!isEnded && hidesSender(bytes, bodyStart))
    return 'a From or Sender field after a line that is not a field';
  return undefined;
}

const senderField = /^(?:from|sender)[ \t]*:/im;

// As long as the header section that is read at all.
const maxHiddenBytes = 262_144;

function hidesSender(bytes: Buffer, start: number): boolean {
  const rest = bytes.toString('latin1', start, start + maxHiddenBytes);
  const [hidden = ''] = rest.split(/\r?\n\r?\n/, 1);
  return senderField.test(hidden);
}
