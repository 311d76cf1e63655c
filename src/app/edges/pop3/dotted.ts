const lf = 0x0a;
const cr = 0x0d;
const dot = 0x2e;

/**
 * A message as a multi-line response (RFC 1939 §3): lines end in CR LF, those that begin with a dot get
 * another one, and a dot ends it. With `bodyLines` only the header section and so many lines of the body
 * (§7, TOP).
 */
export function writeDotted(message: Uint8Array, bodyLines?: number): Buffer {
  const source = bodyLines === undefined ? message : message.subarray(0, endOfTop(message, bodyLines));
  let extra = 5;
  let isLineStart = true;
  for (let at = 0; at < source.length; at++) {
    const byte = source[at];
    if (byte === dot && isLineStart) extra++;
    if (byte === lf && source[at - 1] !== cr) extra++;
    isLineStart = byte === lf;
  }
  const target = Buffer.allocUnsafe(source.length + extra);
  let to = 0;
  isLineStart = true;
  for (let at = 0; at < source.length; at++) {
    const byte = source[at] as number;
    if (byte === dot && isLineStart) target[to++] = dot;
    if (byte === lf && source[at - 1] !== cr) target[to++] = cr;
    target[to++] = byte;
    isLineStart = byte === lf;
  }
  const end = Buffer.from(isLineStart ? '.\r\n' : '\r\n.\r\n');
  end.copy(target, to);
  return target.subarray(0, to + end.length);
}

function endOfTop(message: Uint8Array, bodyLines: number): number {
  let lineStart = 0;
  let left: number | undefined;
  for (let at = 0; at < message.length; at++) {
    if (message[at] !== lf) continue;
    const lineEnd = message[at - 1] === cr ? at - 1 : at;
    if (left === undefined && lineEnd <= lineStart) left = bodyLines;
    else if (left !== undefined) left--;
    if (left === 0) return at + 1;
    lineStart = at + 1;
  }
  return message.length;
}
