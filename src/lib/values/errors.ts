import { codedError, type ErrorTable } from '../../core/index.ts';

export const valueErrors = {
  VALUE_DIRECT_ADDRESS_INVALID: { kind: 'invalid-input' },
  VALUE_NPI_INVALID: { kind: 'invalid-input' },
  VALUE_ZIP_INVALID: { kind: 'invalid-input' },
  VALUE_MESSAGE_URN_INVALID: { kind: 'invalid-input' },
  VALUE_MEDIA_TYPE_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

/** An invalid text. The message names the rule, never the text. */
export class ValueError extends codedError(valueErrors) {}
