/**
 * The encoding that a byte order mark at the start names: `utf-8`, `utf-16be`, `utf-16le`, `utf-32be` or
 * `utf-32le`.
 */
export function markedEncoding(bytes: Uint8Array): string | undefined {
  const [first, second, third, fourth] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe)
    return third === 0 && fourth === 0 && bytes.length % 4 === 0 ? 'utf-32le' : 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0 && second === 0 && third === 0xfe && fourth === 0xff ? 'utf-32be' : undefined;
}

/**
 * The order of UTF-16 without a mark under a name that says nothing of it: a zero in most characters, always
 * on the same side. No other character set has zeros in text.
 */
export function plainUtf16(bytes: Uint8Array): string | undefined {
  if (bytes.length < 4 || bytes.length % 2 !== 0 || !bytes.includes(0)) return undefined;
  const [even, odd] = countZeros(bytes);
  if (Math.min(even, odd) > 0 || Math.max(even, odd) <= bytes.length / 4) return undefined;
  return odd > even ? 'utf-16le' : 'utf-16be';
}

/**
 * UTF-16 or UTF-32 as text, without the mark. `utf-16` and `utf-32` without a mark are big-endian
 * (RFC 2781 §4.3), but for what is plainly the other order: zeros behind most characters, as .NET writes it
 * under this name.
 */
export function decodeUtf16(bytes: Uint8Array, label: string): string {
  const isLittle = label.endsWith('le') || (!label.endsWith('be') && looksLittle(bytes));
  if (label.startsWith('utf-32')) return decodeUtf32(bytes, isLittle);
  return new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be').decode(bytes);
}

function looksLittle(bytes: Uint8Array): boolean {
  const [even, odd] = countZeros(bytes);
  return odd > even;
}

/** At even and at odd places. */
function countZeros(bytes: Uint8Array): [even: number, odd: number] {
  let [even, odd] = [0, 0];
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== 0) continue;
    if (index % 2 === 0) even++;
    else odd++;
  }
  return [even, odd];
}

function decodeUtf32(bytes: Uint8Array, isLittle: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const pieces: string[] = [];
  for (let index = 0; index + 4 <= bytes.length; index += 4) {
    const point = view.getUint32(index, isLittle);
    const isCharacter = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    pieces.push(isCharacter ? String.fromCodePoint(point) : '\ufffd');
  }
  if (pieces[0] === '\ufeff') pieces.shift();
  if (bytes.length % 4 !== 0) pieces.push('\ufffd');
  return pieces.join('');
}
