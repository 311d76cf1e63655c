import { addressKey, domainOf, type DirectAddress } from '../../lib/values/index.ts';

/** A client's own limits; absent ones follow the configuration (Decision 0007). */
export interface ClientLimits {
  readonly directoryRequestsPerSecond?: number;
  readonly directoryRequestsBurst?: number;
  readonly directoryRecordsPerDay?: number;
  readonly sendsPerSecond?: number;
  readonly sendsBurst?: number;
}

/** The caller, as verified by a token. */
export interface ClientIdentity {
  readonly clientId: string;
  readonly organizationId: string;
  readonly name: string;
  /** Of the token, not of the client. */
  readonly scopes: readonly string[];
  /** `user@domain` for one address, `@domain` for all of a domain; lower-cased. */
  readonly directAddresses: readonly string[];
  /** Default of a send for requesting the dispatched MDN (Decision 0012). */
  readonly requestFinalDelivery: boolean;
  readonly limits: ClientLimits;
  readonly dataUseAcceptedAt?: Date;
  /** The edge account that it signed in by; absent for a token. */
  readonly edgeAccount?: string;
  /** The protocol that it speaks there. */
  readonly edgeProtocol?: string;
  /** Whether what it sends is kept for that account's mailbox of sent messages. */
  readonly keepsSent?: boolean;
  /** Present if what it sends is packed as XDM, with this author institution (XON; '' for none). */
  readonly packedFor?: string;
}

/** A client as an operator sees it. Secrets are named by id only. */
export interface Client extends Omit<
  ClientIdentity,
  'scopes' | 'edgeAccount' | 'edgeProtocol' | 'keepsSent' | 'packedFor'
> {
  /** All that the client may ask for. */
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly disabledAt?: Date;
  readonly secrets: readonly { readonly secretId: string; readonly createdAt: Date }[];
}

/** True if the address belongs to the client (SEC-01, Messaging spec: Send message; M5). */
export function canSendAs(client: Pick<ClientIdentity, 'directAddresses'>, address: DirectAddress): boolean {
  const key = addressKey(address);
  const domain = `@${domainOf(address)}`;
  return client.directAddresses.some((own) => own === key || own === domain);
}
