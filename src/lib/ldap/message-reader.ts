import { createByteCollector } from '../../core/index.ts';
import type { Asn1 } from '../asn1/index.ts';
import { LdapError } from './errors.ts';
import { maxLookupElements, maxResponseMessages, maxResponseOctets } from './limits.ts';
import { type LdapMessage, readMessage } from './message.ts';

/** Cuts what a server sends into messages. */
export interface MessageReader {
  /** Throws `LDAP_MESSAGE_INVALID` for what is not a message, and for too many of them or too many octets. */
  push(chunk: Buffer): void;
}

export function createMessageReader(take: (message: LdapMessage) => void): MessageReader {
  // A large message may come in single octets. They are copied, since each costs some hundred octets to keep,
  // and looked at again only once there are enough for the whole message.
  const held = createByteCollector(0, maxResponseOctets);
  let needed = 0;
  let octets = 0;
  let messages = 0;
  let elements = 0;

  /** The length of the message that these octets begin with, if they have all of it. */
  function wholeLength(bytes: Buffer): number | undefined {
    const length = messageLength(bytes, maxResponseOctets);
    needed = length ?? 0;
    return length !== undefined && length <= bytes.length ? length : undefined;
  }

  return {
    push(chunk) {
      octets += chunk.length;
      if (octets > maxResponseOctets) throw new LdapError('LDAP_MESSAGE_INVALID', 'It sends too much');
      let received = chunk;
      if (held.length > 0) {
        held.add(chunk);
        if (held.length < needed || wholeLength(held.peek()) === undefined) return;
        received = held.take();
      }
      let length = wholeLength(received);
      for (; length !== undefined; length = wholeLength(received)) {
        if (++messages > maxResponseMessages)
          throw new LdapError('LDAP_MESSAGE_INVALID', 'It sends too many messages');
        const bytes = received.subarray(0, length);
        received = received.subarray(length);
        const message = readMessage(bytes);
        elements += countElements(message.body);
        if (elements > maxLookupElements)
          throw new LdapError('LDAP_MESSAGE_INVALID', 'It sends too many elements');
        take(message);
      }
      held.add(received);
    },
  };
}

function countElements(node: Asn1): number {
  return node.children.reduce((count, child) => count + countElements(child), 1);
}

/**
 * The length of the first message in the bytes received so far, or undefined when its header is incomplete.
 * LDAP allows definite lengths only (RFC 4511 §5.1). Throws `LDAP_MESSAGE_INVALID` for anything but a
 * SEQUENCE within the limit, before its content has arrived.
 */
export function messageLength(bytes: Uint8Array, maxOctets: number): number | undefined {
  const [tag, first] = bytes;
  if (tag !== undefined && tag !== 0x30) throw invalid('another tag than SEQUENCE');
  if (first === undefined) return undefined;
  if (first < 0x80) return within(2 + first, maxOctets);
  const count = first & 0x7f;
  if (count === 0 || count > 4) throw invalid('a length of unknown form');
  if (bytes.length < 2 + count) return undefined;
  const length = bytes.subarray(2, 2 + count).reduce((sum, octet) => sum * 256 + octet, 0);
  return within(2 + count + length, maxOctets);
}

function within(length: number, maxOctets: number): number {
  if (length > maxOctets) throw invalid('too many octets');
  return length;
}

function invalid(what: string): LdapError {
  return new LdapError('LDAP_MESSAGE_INVALID', `The LDAP message has ${what}`);
}
