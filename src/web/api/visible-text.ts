/** Bidirectional overrides, isolates and marks (UAX #9): text of others could be shown in another order than it is written. */
const bidiControls = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** The text with a replacement character for each control that would reorder it. */
export function visibleText(text: string): string {
  return text.replace(bidiControls, '\uFFFD');
}
