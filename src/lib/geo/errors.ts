import { CodedError, type ErrorOptionsFor, type ErrorTable } from '../../core/index.ts';

export const geoErrors = {
  /** The gazetteer file is not one, or a line of it is faulty. */
  GEO_GAZETTEER_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export class GeoError extends CodedError<keyof typeof geoErrors> {
  constructor(code: keyof typeof geoErrors, message: string, options?: ErrorOptionsFor) {
    super(geoErrors, code, message, options);
  }
}
