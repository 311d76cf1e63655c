/** Characters that turn the direction of writing, by which a text can show as another one. */
const directionMarks = /\p{Bidi_Control}/gu;
// Line and paragraph separators are line ends to many programs.
const controls = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/**
 * Text of a stranger as one line for people: a blank in place of line ends and other control characters, no
 * marks of direction.
 */
export function toPlainLine(text: string): string {
  return text.toWellFormed().replace(directionMarks, '').replace(controls, ' ').trim();
}
