import { ValueError } from './errors.ts';

declare const brand: unique symbol;

/** A ZIP code as five digits or ZIP+4. Examples: `02139`, `02139-4307`. */
export type Zip = string & { readonly [brand]: 'Zip' };

const zipForm = /^[0-9]{5}(?:-[0-9]{4})?$/;

/** Parses `#####` or `#####-####`. Throws VALUE_ZIP_INVALID. */
export function parseZip(text: string): Zip {
  if (!zipForm.test(text)) throw new ValueError('VALUE_ZIP_INVALID', 'A ZIP code is ##### or #####-####.');
  return text as Zip;
}
