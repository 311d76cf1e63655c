/**
 * Characters that a terminal obeys, or that hide or reorder text: controls (C0, DEL, C1), formats (bidi, zero
 * width, tags), lone surrogates, and the separators of lines and paragraphs.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const hiddenButLayout = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const names: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** As JSON writes it, so that JSON stays the same JSON. */
function escapeUnits(text: string): string {
  return (
    names[text] ??
    Array.from({ length: text.length }, (_none, at) => text.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join('')
  );
}

/** Text of several lines for a terminal: what is hidden, but tabs and line ends, is escaped (`\u202e`). */
export function escapeHidden(text: string): string {
  return text.replace(hiddenButLayout, escapeUnits);
}

/** The same for text of others within a line, which must neither end it nor begin another field. */
export function oneLine(text: string): string {
  return text.replace(hidden, escapeUnits);
}

/** The rule for names and reasons that are stored: one line of characters that are seen. */
export function hasHidden(text: string): boolean {
  return text.search(hidden) >= 0;
}

const safeWord = /^[\w@%+=:,./][\w@%+=:,./-]*$/;

/** One word of a POSIX shell command, whatever it contains but NUL. What needs no quotes has none. */
export function quoteForShell(text: string): string {
  return safeWord.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
