import { domainOf, findDirectAddress } from '../../../lib/values/index.ts';

/** Mail as the SMTP edge took it. */
export interface IncomingMail {
  /** The envelope sender; empty for the null sender. */
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  /** The outer RFC 5322 message. */
  readonly message: Uint8Array;
  /** IP address of the peer; undefined if unknown. */
  readonly remoteAddress?: string | undefined;
}

/** Mail that is being processed, without its content. */
export interface MailEnvelope extends Omit<IncomingMail, 'message'> {
  /** For log and audit. */
  readonly id: string;
  readonly receivedAt: Date;
}

/** The domain that the envelope claims; empty for the null sender. */
export function senderDomainOf(mailFrom: string): string {
  const address = findDirectAddress(mailFrom);
  return address === undefined ? '' : domainOf(address);
}

/** Among whom slots are shared: the peer's network together with the sender's domain that it claims. */
export function partyOf(network: string, senderDomain: string): string {
  return `${network} ${senderDomain}`;
}
