import { hasLineBreaker } from '../../core/index.ts';
import { MimeError } from './errors.ts';

const tokenForm = /^[!#$%&'*+.^_`|~\w-]+$/;
// RFC 2231 §3 splits long values; 60 characters leave room for the name within a line of 78.
const segmentLength = 60;

/**
 * Writes `value; name=value…` (RFC 2045 §5.1): quoted where needed, and by RFC 2231 if the text is not ASCII or long.
 * Throws MIME_MEDIA_TYPE_INVALID or MIME_HEADER_UNSAFE.
 */
export function formatParameters(
  value: string,
  parameters: readonly (readonly [name: string, value: string])[],
): string {
  return [value, ...parameters.flatMap(([name, text]) => formatParameter(name, text))].join('; ');
}

function formatParameter(name: string, text: string): string[] {
  if (!tokenForm.test(name)) throw new MimeError('MIME_MEDIA_TYPE_INVALID', 'A parameter name is not legal');
  if (hasLineBreaker(text))
    throw new MimeError('MIME_HEADER_UNSAFE', `The parameter ${name} holds a line break`);
  if (/[^ -~]|=\?/.test(text) || text.length > segmentLength + 18)
    return formatExtended(name, text.toWellFormed());
  return [`${name}=${tokenForm.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&')}"`}`];
}

function formatExtended(name: string, text: string): string[] {
  const units = Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w.-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  const segments = [''];
  for (const unit of units) {
    const last = segments.length - 1;
    if ((segments[last] ?? '').length + unit.length > segmentLength) segments.push(unit);
    else segments[last] += unit;
  }
  if (segments.length === 1) return [`${name}*=UTF-8''${segments[0]}`];
  return segments.map((segment, index) => `${name}*${index}*=${index === 0 ? "UTF-8''" : ''}${segment}`);
}
