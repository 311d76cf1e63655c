import { codedError, type ErrorTable } from '../../core/index.ts';

export const consoleErrors = {
  CONSOLE_HOST_REFUSED: {
    kind: 'forbidden',
    publicMessage: 'The console is not served under this name. Use the address of console.publicUrl.',
  },
  CONSOLE_ORIGIN_REFUSED: {
    kind: 'forbidden',
    publicMessage: 'The request was not sent by a page of the console.',
  },
  CONSOLE_REQUEST_INVALID: { kind: 'invalid-input' },
  CONSOLE_NOT_FOUND: { kind: 'not-found', publicMessage: 'Not found.' },
  CONSOLE_BUSY: {
    kind: 'rate-limited',
    publicMessage:
      'Too many of these requests are in progress. Close a page of the console, or try again in a minute.',
  },
} as const satisfies ErrorTable;

/** Refusals of the console's listener before a route runs. */
export class ConsoleError extends codedError(consoleErrors) {}

/** The refusal of one field of a request; `detail` is the sentence that the form shows. */
export function invalidField(field: string, detail: string, cause?: unknown): ConsoleError {
  return new ConsoleError('CONSOLE_REQUEST_INVALID', detail, {
    problems: [{ field, reason: 'invalid', detail }],
    cause,
  });
}
