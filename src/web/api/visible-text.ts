/** Bidirectional overrides, isolates and marks (UAX #9): text of others could be shown in another order than it is written. */
const bidiControls = /\p{Bidi_Control}/gu;

/** The text with a replacement character for each control that would reorder it. */
export function visibleText(text: string): string {
  return text.replace(bidiControls, '\uFFFD');
}
