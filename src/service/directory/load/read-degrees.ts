const number = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/**
 * The degrees that a text is, blanks around it aside: undefined if they are more than `most` to either side,
 * and for what is no decimal number, such as `0x1E`. Databases write columns of floating-point numbers with
 * exponents, `-9.77431000000000E+001`.
 */
export function readDegrees(text: string, most: number): number | undefined {
  const trimmed = text.trim();
  const value = number.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Math.abs(value) <= most ? value : undefined;
}
