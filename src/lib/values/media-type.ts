import { ValueError } from './errors.ts';

/**
 * A parsed media type. Example: `text/xml; charset=utf-8` is `{ type: 'text', subtype: 'xml', parameters }`.
 */
export interface MediaType {
  /** Lower case. */
  readonly type: string;
  /** Lower case. */
  readonly subtype: string;
  /** Names in lower case, values as written, without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
}

const token = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
const typeForm = new RegExp(`^(${token})/(${token})`);
const parameterForm = new RegExp(
  `[ \\t]*;[ \\t]*(${token})=(?:(${token})|"((?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*)")`,
  'y',
);
const maxMediaTypeLength = 255;

/** Parses a media type strictly (RFC 2045 §5.1). Throws VALUE_MEDIA_TYPE_INVALID. */
export function parseMediaType(text: string): MediaType {
  const head = text.length <= maxMediaTypeLength ? typeForm.exec(text) : null;
  if (head === null) throw invalidMediaType();
  const parameters = new Map<string, string>();
  let position = head[0].length;
  while (position < text.length) {
    parameterForm.lastIndex = position;
    const match = parameterForm.exec(text);
    if (match === null) throw invalidMediaType();
    parameters.set((match[1] ?? '').toLowerCase(), match[2] ?? (match[3] ?? '').replaceAll(/\\(.)/g, '$1'));
    position = parameterForm.lastIndex;
  }
  return { type: (head[1] ?? '').toLowerCase(), subtype: (head[2] ?? '').toLowerCase(), parameters };
}

function invalidMediaType(): ValueError {
  return new ValueError('VALUE_MEDIA_TYPE_INVALID', 'A media type has the form type/subtype.');
}
