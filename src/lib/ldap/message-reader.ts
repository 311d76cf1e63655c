import { LdapError } from './errors.ts';
import { messageLength } from './framing.ts';
import { maxResponseMessages, maxResponseOctets } from './limits.ts';
import { readMessage, type LdapMessage } from './message.ts';

/** Cuts what a server sends into messages. */
export interface MessageReader {
  /** Throws `LDAP_MESSAGE_INVALID` for what is not a message, and for too many of them or too many octets. */
  push(chunk: Buffer): void;
}

export function createMessageReader(take: (message: LdapMessage) => void): MessageReader {
  // Joined only once a whole message is there: a large one may come in many small pieces.
  let pieces: Buffer[] = [];
  let held = 0;
  let needed = 0;
  let octets = 0;
  let messages = 0;
  return {
    push(chunk) {
      octets += chunk.length;
      if (octets > maxResponseOctets) throw new LdapError('LDAP_MESSAGE_INVALID', 'It sends too much');
      pieces.push(chunk);
      held += chunk.length;
      if (held < needed) return;
      let received = Buffer.concat(pieces);
      for (;;) {
        const length = messageLength(received, maxResponseOctets);
        if (length === undefined || received.length < length) {
          pieces = [received];
          held = received.length;
          needed = length ?? 0;
          return;
        }
        if (++messages > maxResponseMessages)
          throw new LdapError('LDAP_MESSAGE_INVALID', 'It sends too many messages');
        const bytes = received.subarray(0, length);
        received = received.subarray(length);
        take(readMessage(bytes));
      }
    },
  };
}
