import type { DirectAddress } from '../../lib/values/index.ts';
import { canSendAs, type Client, type ClientIdentity } from '../oauth/index.ts';
import { MessagingError } from './errors.ts';

/** Refuses an address that is not the client's. Throws MESSAGING_ADDRESS_NOT_OWNED. */
export function requireOwned(client: ClientIdentity, address: DirectAddress, field: string): void {
  if (canSendAs(client, address)) return;
  const detail = 'The address does not belong to this client.';
  throw new MessagingError(
    'MESSAGING_ADDRESS_NOT_OWNED',
    `client ${client.clientId} may not read ${address}`,
    {
      problems: [{ field, reason: 'forbidden', detail }],
    },
  );
}

/**
 * False for a client that gets no messages and no events, pushed ones neither: it is disabled, or may not use
 * the messaging API any more.
 */
export function mayReceive({ disabledAt, scopes }: Pick<Client, 'disabledAt' | 'scopes'>): boolean {
  return disabledAt === undefined && scopes.includes('messaging.api');
}

/**
 * Refuses a push to a client that gets nothing now. It is a failed attempt, so that the message or event is
 * pushed when the client may receive again: a push-only client never looks into its inbox. Throws
 * MESSAGING_CLIENT_NOT_ALLOWED.
 */
export function requireReceiver(client: Pick<Client, 'clientId' | 'disabledAt' | 'scopes'>): void {
  if (mayReceive(client)) return;
  throw new MessagingError(
    'MESSAGING_CLIENT_NOT_ALLOWED',
    `client ${client.clientId} may not receive messages or events`,
  );
}
