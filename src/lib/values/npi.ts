import { ValueError } from './errors.ts';

declare const brand: unique symbol;

/** A National Provider Identifier: exactly ten digits (Directory spec: Limits). Example: `1234567893`. */
export type Npi = string & { readonly [brand]: 'Npi' };

const tenDigits = /^[0-9]{10}$/;

/** Parses ten digits; the check digit is not looked at (Decision 0002). Throws VALUE_NPI_INVALID. */
export function parseNpi(text: string): Npi {
  if (!tenDigits.test(text)) throw new ValueError('VALUE_NPI_INVALID', 'An NPI has exactly ten digits.');
  return text as Npi;
}

/**
 * True if the last digit is the Luhn check digit over the prefix 80840 and the first nine (45 CFR 162.406,
 * DIR-05).
 */
export function hasNpiCheckDigit(npi: Npi): boolean {
  let sum = 24; // The contribution of the constant prefix 80840 to the Luhn sum.
  for (let index = 0; index < 10; index++) {
    const digit = npi.charCodeAt(index) - 48;
    const isDoubled = index % 2 === 0;
    const weighted = isDoubled ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}
