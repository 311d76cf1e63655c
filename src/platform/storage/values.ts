import { PlatformError } from '../errors.ts';

/** The values of a statement as both engines take them: truth values as 0 or 1. */
export function toParameters(parameters: readonly unknown[]): unknown[] {
  return parameters.map((value) => {
    if (typeof value === 'boolean') return Number(value);
    if (typeof value === 'string') refuseNul(value);
    return value;
  });
}

/** PostgreSQL's text cannot hold the character NUL, so neither engine takes it. */
export function refuseNul(text: string): void {
  if (!text.includes('\0')) return;
  throw new PlatformError('PLATFORM_STORAGE_TEXT_INVALID', 'a text with the character NUL cannot be stored');
}
