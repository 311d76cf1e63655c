import type { SmtpReply } from './reply.ts';

export interface SmtpRecipientContext {
  /** As given in MAIL FROM; '' for the null sender. */
  readonly mailFrom: string;
  readonly remoteAddress: string;
}

export interface SmtpMessage extends SmtpRecipientContext {
  /** As given, case preserved, without repetitions. */
  readonly recipients: readonly string[];
  /** The octets between DATA and its end, dots unstuffed, nothing else changed. */
  readonly message: Uint8Array;
  /** What the client called itself. */
  readonly helo: string;
  readonly isSecure: boolean;
}

export interface SmtpHandlers {
  /** Decides about a recipient; whoever is not hosted here must be refused (EDGE-09). An exception gives 451. */
  onRecipient(address: string, context: SmtpRecipientContext): Promise<'accept' | SmtpReply>;
  /**
   * Takes the message. The client hears 250 only after this resolves without a reply, so it must have made the
   * message durable by then. An exception gives 451, and the client tries again.
   */
  onMessage(message: SmtpMessage): Promise<SmtpReply | undefined | void>;
  /** Hears of exceptions of the other two and of broken connections. */
  onError?(error: unknown): void;
}
