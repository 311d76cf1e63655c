import { codedError, type ErrorTable } from '../../core/index.ts';

export const geoErrors = {
  /** The gazetteer file is not one, or a line of it is faulty. */
  GEO_GAZETTEER_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export class GeoError extends codedError(geoErrors) {}
