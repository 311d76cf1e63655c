const powersOfTen = Float64Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
// So many digits are a whole number that a double holds exactly, and a power of ten divides it correctly
// rounded.
const exactDigits = 15;

/** The decimal number that the bytes spell, undefined if there are none, NaN if they spell no number. */
export function readNumber(bytes: Uint8Array, from: number, to: number): number | undefined {
  if (from === to) return undefined;
  const first = bytes[from] === minus ? from + 1 : from;
  let digits = 0;
  let decimals = 0;
  let isFraction = false;
  for (let at = first; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte === point && !isFraction && at > first) isFraction = true;
    else if (byte >= 0x30 && byte <= 0x39) {
      digits = digits * 10 + byte - 0x30;
      if (isFraction) decimals++;
    } else return readAny(bytes, from, to);
  }
  if (first === to || to - first > exactDigits) return readAny(bytes, from, to);
  const value = digits / (powersOfTen[decimals] as number);
  return first === from ? value : -value;
}

const minus = 0x2d;
const point = 0x2e;

function readAny(bytes: Uint8Array, from: number, to: number): number {
  const text = String.fromCharCode(...bytes.subarray(from, to)).trim();
  return text === '' ? Number.NaN : Number(text);
}
