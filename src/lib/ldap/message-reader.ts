import { createByteCollector } from '../../core/index.ts';
import type { Asn1 } from '../asn1/index.ts';
import { LdapError } from './errors.ts';
import { messageLength } from './framing.ts';
import { maxLookupElements, maxResponseMessages, maxResponseOctets } from './limits.ts';
import { readMessage, type LdapMessage } from './message.ts';

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
