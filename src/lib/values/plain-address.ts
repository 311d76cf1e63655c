/**
 * True if the bytes are a Direct address of the usual kind: a dot-atom of at most 64 octets, and a domain of
 * at least two labels that does not end in digits (see `parseDirectAddress`, which also knows quoted local
 * parts). For loads of millions.
 */
export function isPlainDirectAddress(bytes: Uint8Array, from: number, to: number): boolean {
  const at = endOfDotAtom(bytes, from, to);
  return at > from && at - from <= 64 && bytes[at] === atSign && isPlainDomain(bytes, at + 1, to);
}

const atSign = 0x40;
const dot = 0x2e;
const hyphen = 0x2d;

// The classes of bytes, as bits.
const letter = 1;
const digit = 2;
const otherAtom = 4;

const classes = Uint8Array.from({ length: 256 }, (_, byte) => {
  const text = String.fromCharCode(byte);
  if (/[A-Za-z]/.test(text)) return letter;
  if (/[0-9]/.test(text)) return digit;
  return /[!#$%&'*+\-/=?^_`{|}~]/.test(text) ? otherAtom : 0;
});

// End of the dot-atom that begins at `from`; `from` if there is none.
function endOfDotAtom(bytes: Uint8Array, from: number, to: number): number {
  let atom = from;
  for (let at = from; at < to; at++) {
    if (classes[bytes[at] as number] !== 0) continue;
    // An atom is never empty.
    if (at === atom) return from;
    if (bytes[at] !== dot) return at;
    atom = at + 1;
  }
  return from;
}

function isPlainDomain(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > 253) return false;
  let label = from;
  let labels = 1;
  let seen = 0;
  for (let at = from; at <= to; at++) {
    const byte = bytes[at] as number;
    if (at < to && byte !== dot) {
      const kind = classes[byte] as number;
      if (kind === 0 || (kind === otherAtom && byte !== hyphen)) return false;
      seen |= kind;
      continue;
    }
    if (at === label || at - label > 63 || bytes[label] === hyphen || bytes[at - 1] === hyphen) return false;
    if (at === to) break;
    labels++;
    label = at + 1;
    seen = 0;
  }
  return labels >= 2 && seen !== digit;
}
