/**
 * Characters of others that mislead: bidirectional overrides, isolates and marks (UAX #9) show text in
 * another order than it is written; characters without width make two addresses look the same; controls show
 * as nothing.
 */
const misleading = /(?![\t\n\r])[\p{Bidi_Control}\p{Cc}\u00AD\u180E\u200B\u2028\u2029\u2060\uFEFF]/gu;
const replacement = '\uFFFD';

/**
 * The text with a replacement character for each one that misleads, and for each half of a surrogate pair,
 * which no URL can contain.
 */
export function visibleText(text: string): string {
  return text.replace(misleading, replacement).toWellFormed();
}

/** Parses JSON with every string as by `visibleText`. */
export function parseVisible<T>(json: string): T {
  const shown = visibleText(json);
  // An escaped character is not seen before it is parsed.
  if (!shown.includes(String.raw`\u`)) return JSON.parse(shown) as T;
  return JSON.parse(shown, (_name, value: unknown) =>
    typeof value === 'string' ? visibleText(value) : value,
  ) as T;
}
