const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
};

/** Text for an element's content; characters that XML 1.0 §2.2 forbids become blanks. */
export function xmlText(text: string): string {
  return legal(text).replace(/[&<>]/g, (character) => entities[character] ?? '');
}

/**
 * ` name="value"` for each pair; line ends are kept as references, since attribute values are normalized
 * otherwise.
 */
export function xmlAttributes(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(
      ([name, value]) =>
        ` ${name}="${legal(value).replace(/[&<>"\n\r\t]/g, (character) => entities[character] ?? '')}"`,
    )
    .join('');
}

function legal(text: string): string {
  return text.toWellFormed().replace(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu, ' ');
}
