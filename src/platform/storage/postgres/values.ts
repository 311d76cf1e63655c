import type { CustomTypesConfig } from 'pg';
import pg from 'pg';

const { builtins } = pg.types;

/**
 * Values as SQLite gives them: 64-bit integers and sums as numbers, truth values as 0 or 1, blobs as bytes.
 * Everything else is left to the driver.
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
