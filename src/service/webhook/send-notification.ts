import { CodedError, errorText, readJsonObject } from '../../core/index.ts';
import { readRetryAfter } from '../../lib/fetch/index.ts';
import type { Vault } from '../../platform/index.ts';
import { WebhookError } from './errors.ts';
import { handOver, readStoreAddress, type MailStores } from './hand-over.ts';
import type { AttemptResult, Call } from './call.ts';
import { openBasic, openSigningKeys } from './hooks.ts';
import { signNotification } from './sign-notification.ts';

/**
 * Posts one body and answers with the HTTP status. It follows no redirects, stops after the attempt's
 * timeout, and refuses private targets after name resolution (HOOK-03); `lib/fetch` makes such a function.
 */
export type PostNotification = (
  url: string,
  init: {
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | Uint8Array;
  },
) => Promise<{
  readonly status: number;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}>;

/**
 * Source of the content of received messages, and who may be notified; implemented by the messaging service.
 */
export interface InboundSource {
  /** Throws for a client that gets nothing now: it is disabled, or may not use the messaging API. */
  requireReceiver(clientId: string): Promise<void>;
  /** The whole message as JSON in UTF-8, or undefined if it needs no delivery any more. */
  buildPayload(
    copyId: string,
    clientId: string,
    options: { readonly isXdm: boolean },
  ): Promise<Uint8Array | undefined>;
  /** Octets of the stored messages by copy; none of what is gone. */
  measure(copyIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The client has it: its hook answered 2xx. */
  acknowledge(copyId: string, clientId: string): Promise<void>;
}

export interface SendDependencies {
  readonly vault: Vault;
  readonly post: PostNotification;
  readonly inbound: InboundSource | undefined;
  readonly stores?: MailStores | undefined;
  readonly now: Date;
}

const maxErrorLength = 200;
const maxAnswerBytes = 300;
const gone = 410;

/** One attempt. Never throws for failures of the target. */
export async function sendNotification(call: Call, deps: SendDependencies): Promise<AttemptResult> {
  const store = readStoreAddress(call.hook.url);
  if (store !== undefined) return handOver(call, store, deps.stores);
  let body: Uint8Array | undefined;
  try {
    body = await buildBody(call, deps.inbound);
    if (body === undefined) return { outcome: 'unneeded', httpStatus: null, isUncalled: true };
  } catch (error) {
    return { outcome: 'failed', httpStatus: null, error: describe(error), isUncalled: true };
  }
  try {
    const {
      status,
      body: said,
      headers = {},
    } = await deps.post(call.hook.url, {
      method: 'POST',
      headers: await buildHeaders(call, body, deps),
      body,
    });
    const answer = call.hook.kind === 'status' ? { answer: beginningOf(said) } : {};
    if (status < 200 || status > 299) {
      const retryAfterMs = readRetryAfter(headers, deps.now);
      return {
        outcome: status === gone ? 'gone' : 'failed',
        httpStatus: status,
        error: `HTTP ${status}`,
        ...answer,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      };
    }
    if (call.hook.kind === 'inbound') await deps.inbound?.acknowledge(call.row.subject, call.hook.client_id);
    return { outcome: 'delivered', httpStatus: status, ...answer };
  } catch (error) {
    return { outcome: 'failed', httpStatus: null, error: describe(error) };
  }
}

/** Printable, one line. */
function beginningOf(body: Uint8Array | undefined): string {
  const text = Buffer.from(body?.subarray(0, maxAnswerBytes) ?? []).toString('latin1');
  return text.replaceAll(/[^\x21-\x7e]+/g, ' ').trim();
}

async function buildBody(
  { row, hook }: Call,
  inbound: InboundSource | undefined,
): Promise<Uint8Array | undefined> {
  if (hook.kind === 'inbound')
    return inbound?.buildPayload(row.subject, hook.client_id, { isXdm: hook.is_xdm === 1 });
  await inbound?.requireReceiver(hook.client_id);
  const payload = readPayload(row);
  const body = hook.edge_account === null ? { ...payload, attempt: row.attempts + 1 } : payload['body'];
  return Buffer.from(JSON.stringify(body));
}

/** Nothing is signed that this service has not written. Errors: `WEBHOOK_PAYLOAD_UNREADABLE`. */
function readPayload({ id, payload }: Call['row']): Readonly<Record<string, unknown>> {
  const read = readJsonObject(payload);
  if (read !== undefined) return read;
  throw new WebhookError('WEBHOOK_PAYLOAD_UNREADABLE', `${id}: its payload was changed in the database`);
}

async function buildHeaders(
  { row, hook }: Call,
  body: Uint8Array,
  { vault, now }: SendDependencies,
): Promise<Record<string, string>> {
  const timestamp = Math.floor(now.getTime() / 1000);
  const keys = openSigningKeys(vault, hook, now.getTime());
  const basic = openBasic(vault, hook);
  return {
    'content-type': 'application/json',
    'user-agent': 'openhisp',
    'webhook-id': row.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': await signNotification(keys, { id: row.id, timestamp, body }),
    ...(basic === undefined ? {} : { authorization: basic }),
    ...(hook.edge_account === null
      ? {}
      : { 'x-request-id': row.id, 'x-correlation-id': String(readPayload(row)['correlationId']) }),
  };
}

/** A failed exchange with its cause; of other refusals the code, which the documentation explains. */
function describe(error: unknown): string {
  const isExplained = error instanceof CodedError && error.code !== 'FETCH_FAILED';
  return (isExplained ? error.code : errorText(error)).slice(0, maxErrorLength);
}
