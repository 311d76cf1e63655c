import { hasLineBreaker, type FieldProblem } from '../../core/index.ts';
import { MessagingError } from './errors.ts';

/** Collects all errors of a request, so that one answer has all of them. */
export interface Problems {
  add(field: string, reason: string, detail: string): void;
  readonly found: readonly FieldProblem[];
  /** Throws MESSAGING_REQUEST_INVALID if there is any. */
  refuseIfAny(): void;
}

/** More problems than this say no more. */
const maxProblems = 100;

export function createProblems(): Problems {
  const found: FieldProblem[] = [];
  return {
    found,
    add(field, reason, detail) {
      if (found.length < maxProblems) found.push({ field, reason, detail });
    },
    refuseIfAny() {
      if (found.length === 0) return;
      const names = found.map((problem) => `${problem.field} ${problem.reason}`).join(', ');
      throw new MessagingError('MESSAGING_REQUEST_INVALID', `faulty fields: ${names.slice(0, 500)}`, {
        problems: found,
      });
    },
  };
}

// Control characters other than tab and line ends have no place in texts, and XML 1.0 cannot carry them.
const controls = /(?![\t\n\r\u0080-\u009f])\p{Cc}/u;
const singleLineControls = /(?![\u0080-\u009f])\p{Cc}/u;

/** The fault of a text's characters as reason and detail, or undefined. */
export function findTextProblem(
  text: string,
  isMultiLine: boolean,
): { readonly reason: string; readonly detail: string } | undefined {
  if (!isMultiLine && hasLineBreaker(text))
    return { reason: 'line_break', detail: 'Line breaks and NUL are not allowed here.' };
  if ((isMultiLine ? controls : singleLineControls).test(text))
    return { reason: 'control_character', detail: 'Control characters are not allowed here.' };
  if (!text.isWellFormed()) return { reason: 'invalid', detail: 'Not well-formed Unicode text.' };
  return undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
