import { CodedError, type ErrorOptionsFor, type ErrorTable } from '../../core/index.ts';

export const consoleErrors = {
  CONSOLE_HOST_REFUSED: {
    kind: 'forbidden',
    publicMessage: 'The console is not served under this name. Use the address of console.publicUrl.',
  },
  CONSOLE_ORIGIN_REFUSED: {
    kind: 'forbidden',
    publicMessage: 'The request does not come from a page of the console.',
  },
  CONSOLE_REQUEST_INVALID: { kind: 'invalid-input' },
  CONSOLE_NOT_FOUND: { kind: 'not-found', publicMessage: 'Not found.' },
  CONSOLE_BUSY: {
    kind: 'rate-limited',
    publicMessage: 'Too much of this is under way for one operator; close something, or try again shortly.',
  },
} as const satisfies ErrorTable;

export type ConsoleErrorCode = keyof typeof consoleErrors;

/** What the console's listener refuses before a route is asked. */
export class ConsoleError extends CodedError<ConsoleErrorCode> {
  constructor(code: ConsoleErrorCode, message: string, options: ErrorOptionsFor = {}) {
    super(consoleErrors, code, message, options);
  }
}
