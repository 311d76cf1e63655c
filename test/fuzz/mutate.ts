/** Repeatable damage to bytes, for the fuzz programs of this folder. */

/** Numbers from 0 up to and without 1. */
export type RandomNumbers = () => number;

const maxBytes = 200_000;

/** One to eight random changes: bits, bytes, cuts, repeats, tokens of the format, pieces of other samples. */
export function mutate(
  sample: Uint8Array,
  corpus: readonly Uint8Array[],
  tokens: readonly string[],
  random: RandomNumbers,
): Buffer {
  let bytes = Buffer.from(sample);
  for (let count = 1 + Math.floor(random() * 8); count > 0; count--) {
    bytes = changeOnce(bytes, corpus, tokens, random).subarray(0, maxBytes);
  }
  return bytes;
}

function changeOnce(
  bytes: Buffer<ArrayBuffer>,
  corpus: readonly Uint8Array[],
  tokens: readonly string[],
  random: RandomNumbers,
): Buffer<ArrayBuffer> {
  const at = Math.floor(random() * (bytes.length + 1));
  const length = Math.floor(random() ** 3 * Math.min(bytes.length - at, 4000));
  const insert = (piece: Uint8Array): Buffer<ArrayBuffer> =>
    Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + length)]);
  const choice = Math.floor(random() * 8);
  if (choice === 0 && at < bytes.length) {
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    return bytes;
  }
  if (choice === 1) return insert(new Uint8Array(0));
  if (choice === 2)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)]);
  if (choice === 3) return bytes.subarray(0, at);
  if (choice === 4) return insert(Buffer.alloc(Math.floor(random() * 300), Math.floor(random() * 256)));
  if (choice === 5) {
    const other = corpus[Math.floor(random() * corpus.length)] ?? bytes;
    const from = Math.floor(random() * other.length);
    return insert(other.subarray(from, from + Math.floor(random() * 2000)));
  }
  const token = tokens[Math.floor(random() * tokens.length)] ?? '';
  return insert(Buffer.from(token.repeat(random() < 0.05 ? 200 : 1), 'latin1'));
}
