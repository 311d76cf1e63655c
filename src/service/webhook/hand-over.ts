import { CodedError, errorText } from '../../core/index.ts';
import type { TargetRules } from './check-webhook-url.ts';
import { WebhookError } from './errors.ts';
import type { AttemptResult, Call } from './call.ts';

/** A received message for the mail store of its edge account's operator. */
export interface StoreMail {
  readonly recipient: string;
  readonly message: Uint8Array;
  /** Gives up its memory. */
  release(): void;
}

/** Reads received messages and gives them to mail stores; implemented by the edges. */
export interface MailStores {
  /**
   * Undefined if the message needs no delivery any more. Throws for an account that may do nothing now.
   */
  read(copyId: string, accountId: string): Promise<StoreMail | undefined>;
  /** The store's refusal as its reply code; '' once it has the message. Throws if it decided nothing. */
  deliver(target: MailStoreTarget, mail: StoreMail): Promise<string>;
  /** The store has it. */
  acknowledge(copyId: string, accountId: string): Promise<void>;
}

export interface MailStoreTarget {
  readonly protocol: 'lmtp' | 'smtp';
  readonly host: string;
  readonly port: number;
  /** Of this machine: there TLS would protect nothing. */
  readonly isLoopback: boolean;
}

const form = /^(lmtp|smtp):\/\/(?:\[([0-9a-f:]+)\]|([0-9a-z.-]+)):(\d{1,5})$/;

/** Undefined for the address of a webhook, and for what is no address of a mail store. */
export function readStoreAddress(text: string): MailStoreTarget | undefined {
  const [, protocol, ipv6, name = '', port] = form.exec(text) ?? [];
  if (protocol === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  const host = ipv6 ?? name;
  const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
  return { protocol: protocol as 'lmtp' | 'smtp', host, port: Number(port), isLoopback };
}

/**
 * Throws WEBHOOK_REQUEST_INVALID for an address that no store may have: a store is always one of the
 * operator's own hosts (HOOK-03).
 */
export function checkStoreAddress(text: string, { isLoopbackAllowed, allowedHosts }: TargetRules): void {
  const target = readStoreAddress(text);
  const isAllowed =
    target !== undefined && (allowedHosts.includes(target.host) || (target.isLoopback && isLoopbackAllowed));
  if (isAllowed) return;
  const detail =
    target === undefined
      ? 'Not of the form lmtp://host:port or smtp://host:port, in lower case.'
      : `The host ${target.host} is not one of webhook.allowedHosts.`;
  throw new WebhookError('WEBHOOK_REQUEST_INVALID', `the address of the mail store is not valid: ${detail}`, {
    problems: [{ field: 'url', reason: 'invalid', detail }],
  });
}

/** One attempt. Never throws for failures of the store. */
export async function handOver(
  { row, hook }: Call,
  target: MailStoreTarget,
  stores: MailStores | undefined,
): Promise<AttemptResult> {
  const accountId = hook.edge_account ?? '';
  let mail: StoreMail | undefined;
  try {
    if (stores === undefined) throw new TypeError('no mail store is served here');
    mail = await stores.read(row.subject, accountId);
    if (mail === undefined) return { outcome: 'unneeded', httpStatus: null, isUncalled: true };
  } catch (error) {
    return { outcome: 'failed', httpStatus: null, error: describe(error), isUncalled: true };
  }
  try {
    const refusal = await stores.deliver(target, mail);
    if (refusal !== '')
      return { outcome: 'failed', httpStatus: null, error: `${target.protocol.toUpperCase()} ${refusal}` };
    await stores.acknowledge(row.subject, accountId);
    return { outcome: 'delivered', httpStatus: null };
  } catch (error) {
    return { outcome: 'failed', httpStatus: null, error: describe(error) };
  } finally {
    mail.release();
  }
}

const describe = (error: unknown): string =>
  (error instanceof CodedError ? error.code : errorText(error)).slice(0, 200);
