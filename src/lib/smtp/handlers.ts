import type { SmtpReply } from './reply.ts';

export interface SmtpRecipientContext {
  /** As given in MAIL FROM; '' for the null sender. */
  readonly mailFrom: string;
  readonly remoteAddress: string;
  /** Of a server for submission: what `signIn` returned. */
  readonly user?: object;
}

export interface SmtpMessage extends SmtpRecipientContext {
  /** As given, case preserved, without repetitions. */
  readonly recipients: readonly string[];
  /** The octets between DATA and its end, dots unstuffed, nothing else changed. */
  readonly message: Uint8Array;
  readonly isSecure: boolean;
}

/** The data about a message before it is read. */
export interface SmtpOffer extends SmtpRecipientContext {
  /** As announced by the SIZE parameter (RFC 1870). */
  readonly sizeBytes: number | undefined;
}

/** The data about a message when its header has been read. */
export interface SmtpHeader extends SmtpRecipientContext {
  readonly recipients: readonly string[];
  /** The octets up to the empty line; valid only during the call. */
  readonly header: Uint8Array;
}

export interface SmtpHandlers {
  /**
   * Decides at MAIL FROM and again at DATA whether a message may come now at all; a reply refuses it before
   * it is read. An exception gives 451.
   */
  onOffer?(offer: SmtpOffer): SmtpReply | undefined;
  /**
   * Decides by the header; with a reply, the rest of the message is read and dropped. An exception gives 451.
   */
  onHeader?(header: SmtpHeader): SmtpReply | undefined;
  /**
   * Decides about a recipient; addresses that are not hosted must be refused (EDGE-09). An exception gives
   * 451.
   */
  onRecipient(address: string, context: SmtpRecipientContext): Promise<'accept' | SmtpReply>;
  /**
   * Accepts the message. The client gets 250 only after this resolves without a reply, so it must have made
   * the message durable by then. An exception gives 451, and the client tries again.
   */
  onMessage(message: SmtpMessage): Promise<SmtpReply | undefined | void>;
  /** Called for exceptions of the other handlers and errors of connections. */
  onError?(error: unknown): void;
}
