const prefix = 'urn:uuid:';
const bareForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The path of a message's screen, without the prefix `urn:uuid:`. */
export function messagePath(messageId: string): string {
  const name = messageId.startsWith(prefix) ? messageId.slice(prefix.length) : messageId;
  return `/messages/${encodeURIComponent(name)}`;
}

const operatorPrefix = 'operator:';

/** The operator who sent a test message; undefined for the message of a client. */
export const testerOf = (clientId: string): string | undefined =>
  clientId.startsWith(operatorPrefix) ? clientId.slice(operatorPrefix.length) : undefined;

/** The message id of a screen's path, or another id of the message. */
export function idFromPath(part: string): string {
  const name = decode(part);
  return bareForm.test(name) ? `${prefix}${name}` : name;
}

/** The router leaves `%3A` and `%40` as they are. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
