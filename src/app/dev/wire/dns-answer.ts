const types: Readonly<Record<number, string>> = {
  1: 'A',
  2: 'NS',
  5: 'CNAME',
  6: 'SOA',
  15: 'MX',
  16: 'TXT',
  28: 'AAAA',
  33: 'SRV',
  37: 'CERT',
};

const headerBytes = 12;

/**
 * A DNS answer as text; undefined for bytes that are not a DNS message. The question in an answer is
 * uncompressed (RFC 1035 §4.1).
 */
export function describeDnsAnswer(
  bytes: Uint8Array,
): { readonly name: string; readonly question: string; readonly answer: string } | undefined {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (message.length < headerBytes || message.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = headerBytes;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined;
    at += 1;
    if (length === 0) break;
    labels.push(message.toString('latin1', at, at + length));
    at += length;
  }
  if (at + 4 > message.length) return undefined;
  const type = message.readUInt16BE(at);
  const typeName = types[type] ?? `TYPE${type}`;
  const name = labels.join('.').toLowerCase();
  return { name, question: `${typeName} ${name}?`, answer: describeAnswer(message, typeName) };
}

function describeAnswer(message: Buffer, typeName: string): string {
  const isTruncated = ((message[2] ?? 0) & 2) !== 0;
  const code = (message[3] ?? 0) & 15;
  const count = message.readUInt16BE(6);
  if (isTruncated) return 'too long for UDP, retry over TCP';
  if (code === 3) return 'no such name';
  if (code !== 0) return `error ${code}`;
  if (count === 0) return `no ${typeName} record`;
  return `${count} ${typeName} ${count === 1 ? 'record' : 'records'}`;
}
