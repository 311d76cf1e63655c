import { randomUUID } from 'node:crypto';
import { ValueError } from './errors.ts';

declare const brand: unique symbol;

/** The API's name of a message, in lower case. Example: `urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11`. */
export type MessageUrn = string & { readonly [brand]: 'MessageUrn' };

const urnForm = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Parses `urn:uuid:<uuid>` in any case (Messaging spec: Outbound message). Throws VALUE_MESSAGE_URN_INVALID.
 */
export function parseMessageUrn(text: string): MessageUrn {
  if (!urnForm.test(text)) {
    throw new ValueError('VALUE_MESSAGE_URN_INVALID', 'A message id has the form urn:uuid:<uuid>.');
  }
  return text.toLowerCase() as MessageUrn;
}

/** The bare UUID in lower case. */
export function uuidOf(urn: MessageUrn): string {
  return urn.slice('urn:uuid:'.length);
}

/** A new name from a random UUID (version 4). */
export function createMessageUrn(newUuid: () => string = randomUUID): MessageUrn {
  return `urn:uuid:${newUuid()}` as MessageUrn;
}
