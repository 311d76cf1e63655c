import type { CustomTypesConfig } from 'pg';
import pg from 'pg';
import { PlatformError } from '../../errors.ts';

const { builtins } = pg.types;

/**
 * Values as SQLite gives them: 64-bit integers and sums as numbers, truth values as 0 or 1, blobs as bytes. Everything
 * else is left to the driver.
 */
export const valueTypes: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (format !== 'binary' && (oid === builtins.INT8 || oid === builtins.NUMERIC)) return toNumber;
    if (format !== 'binary' && oid === builtins.BOOL) return toZeroOrOne;
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

function toNumber(text: string): number {
  return Number(text);
}

function toZeroOrOne(text: string): number {
  return text === 't' ? 1 : 0;
}

/** The values of a statement as the driver takes them. */
export function toParameters(parameters: readonly unknown[]): unknown[] {
  return parameters.map((value) => {
    if (typeof value === 'boolean') return Number(value);
    if (typeof value === 'string') refuseNul(value);
    return value;
  });
}

/** PostgreSQL's text cannot hold the character NUL. */
export function refuseNul(text: string): void {
  if (!text.includes('\0')) return;
  throw new PlatformError('PLATFORM_STORAGE_TEXT_INVALID', 'a text with the character NUL cannot be stored');
}
