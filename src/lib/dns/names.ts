import { DnsError } from './errors.ts';
import { headerOctets, maxLabelOctets, maxNameOctets, maxNamePointers } from './limits.ts';

// Names are text without the closing dot ('' is the root), with the escapes of RFC 1035 §5.1 (`\.`, `\\`,
// `\DDD`) for octets that are not printable ASCII, so that any octet survives a round trip.

/**
 * Writes a name without compression. Characters beyond ASCII become their UTF-8 octets. Throws
 * `DNS_NAME_INVALID`.
 */
export function writeName(name: string): Buffer {
  const labels: Buffer[] = [];
  for (const label of splitLabels(name)) {
    if (label.length === 0) throw invalidName(name, 'an empty label');
    if (label.length > maxLabelOctets) throw invalidName(name, 'a label over 63 octets');
    labels.push(Buffer.of(label.length), label);
  }
  labels.push(Buffer.of(0));
  const wire = Buffer.concat(labels);
  if (wire.length > maxNameOctets) throw invalidName(name, 'over 255 octets');
  return wire;
}

/**
 * Reads a name at `offset`, following compression pointers backwards only; `end` lies behind it in the
 * message.
 */
export function readName(message: Uint8Array, offset: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = offset;
  let end = -1;
  let lowest = offset;
  let octets = 1;
  let pointers = 0;
  for (;;) {
    const length = octetAt(message, at);
    if (length === 0) return { name: labels.join('.'), end: end < 0 ? at + 1 : end };
    if (length >= 0xc0) {
      const target = ((length & 0x3f) << 8) | octetAt(message, at + 1);
      if (end < 0) end = at + 2;
      // Pointers that lead to pointers could make each of many names as long to read as the message.
      if (++pointers > maxNamePointers) throw invalidMessage('a name of too many pointers');
      // RFC 1035 §4.1.4: "a prior occurrence"; strictly decreasing targets cannot run in circles. The header
      // holds no names, and one read from it would change when the question is echoed under another header.
      if (target >= lowest || target < headerOctets)
        throw invalidMessage('a name pointer that does not point back');
      lowest = at = target;
      continue;
    }
    if (length > maxLabelOctets) throw invalidMessage('a label of unknown form');
    octets += length + 1;
    if (octets > maxNameOctets || at + 1 + length > message.length)
      throw invalidMessage('a name that is too long');
    labels.push(escapeLabel(message.subarray(at + 1, at + 1 + length)));
    at += length + 1;
  }
}

/** The comparison key of a name: ASCII letters in lower case (RFC 4343 §3), no closing dot. */
export function nameKey(name: string): string {
  const isDotted = name.endsWith('.') && !name.endsWith('\\.');
  return (isDotted ? name.slice(0, -1) : name).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** True if `name` equals `zone` or lies below it; both are keys as {@link nameKey} makes them. */
export function isWithin(name: string, zone: string): boolean {
  return zone === '' || name === zone || (name.endsWith(`.${zone}`) && !name.endsWith(`\\.${zone}`));
}

/** The name without its first label; '' for the root. */
export function parentName(name: string): string {
  for (let index = 0; index < name.length; index++) {
    if (name[index] === '\\') index++;
    else if (name[index] === '.') return name.slice(index + 1);
  }
  return '';
}

function splitLabels(name: string): Buffer[] {
  if (name === '' || name === '.') return [];
  const labels: Buffer[] = [];
  let octets: number[] = [];
  const bytes = Buffer.from(name, 'utf8');
  for (let index = 0; index < bytes.length; index++) {
    const octet = bytes[index] ?? 0;
    if (octet === 0x2e) {
      labels.push(Buffer.from(octets));
      octets = [];
      if (index === bytes.length - 1) return labels;
    } else if (octet === 0x5c) {
      const digits = bytes.toString('latin1', index + 1, index + 4);
      if (/^\d{3}$/.test(digits) && Number(digits) < 256) {
        octets.push(Number(digits));
        index += 3;
      } else {
        const next = bytes[++index];
        if (next === undefined) throw invalidName(name, 'an unfinished escape');
        octets.push(next);
      }
    } else octets.push(octet);
  }
  labels.push(Buffer.from(octets));
  return labels;
}

function escapeLabel(label: Uint8Array): string {
  let text = '';
  for (const octet of label) {
    if (octet === 0x2e || octet === 0x5c) text += `\\${String.fromCharCode(octet)}`;
    else if (octet > 0x20 && octet < 0x7f) text += String.fromCharCode(octet);
    else text += `\\${String(octet).padStart(3, '0')}`;
  }
  return text;
}

function octetAt(message: Uint8Array, at: number): number {
  const octet = message[at];
  if (octet === undefined) throw invalidMessage('a name that runs out of the message');
  return octet;
}

function invalidMessage(what: string): DnsError {
  return new DnsError('DNS_MESSAGE_INVALID', `The DNS message has ${what}`);
}

function invalidName(name: string, what: string): DnsError {
  return new DnsError('DNS_NAME_INVALID', `The DNS name has ${what}`, {
    fields: { name: name.slice(0, 300) },
  });
}
