import type { ClientIdentity } from '../../oauth/index.ts';
import type { ComposeInput } from './pack-attachments.ts';
import { composeMessage } from './compose-message.ts';
import { hashRequest } from '../request/hash-request.ts';
import { buildInboundPayload } from './inbound-payload.ts';
import type { InboundDocument, OpenOptions, PackageWarning } from './inbound-document.ts';
import { findDamage, openDocuments } from './open-documents.ts';
import { packSubmitted } from './pack-submitted.ts';
import { parseBody } from '../request/parse-body.ts';
import { readSubmitted, type SubmittedMessage, type SubmittedOptions } from '../request/read-submitted.ts';
import { readSendRequest, type ReadOptions, type SendRequest } from '../request/read-send-request.ts';

/**
 * Work whose cost depends on the size of the contents. Input and output are plain data, so that it can run in
 * a thread.
 */
export type ContentTask =
  | ({ readonly kind: 'read' } & ReadTask)
  | { readonly kind: 'compose'; readonly input: ComposeInput }
  | { readonly kind: 'submitted'; readonly bytes: Uint8Array; readonly options: SubmittedOptions }
  | { readonly kind: 'damage'; readonly inner: Uint8Array }
  | { readonly kind: 'payload'; readonly inner: Uint8Array; readonly options: OpenOptions }
  | {
      readonly kind: 'document';
      readonly inner: Uint8Array;
      readonly options: OpenOptions;
      /** From 0, as in `emailAttachmentList`. */
      readonly position: number;
    };

export interface ReadTask {
  readonly json: Uint8Array;
  readonly clientId: ClientIdentity['clientId'];
  readonly options: ReadOptions;
}

/**
 * A checked send request, and its hash for telling a repetition from another message (Decision 0009: M2);
 * empty for a request without a message id, which nothing can repeat.
 */
export interface ReadResult {
  readonly request: SendRequest;
  readonly requestHash: string;
}

export interface FoundDamage {
  readonly damage: readonly PackageWarning[];
}

/** The result of each kind of task. */
export type ContentResult =
  | ReadResult
  | SubmittedMessage
  | FoundDamage
  | Uint8Array
  | InboundDocument
  | undefined;

export async function doContentWork(task: ContentTask): Promise<ContentResult> {
  switch (task.kind) {
    case 'read':
      return readSend(parseBody(task.json), task);
    case 'compose':
      return composeMessage(task.input);
    case 'submitted':
      return packSubmitted(readSubmitted(task.bytes, task.options), task.options);
    case 'damage':
      return { damage: await findDamage(task.inner) };
    case 'payload':
      return formatPayload(task.inner, task.options);
    case 'document':
      return (await openDocuments(task.inner, task.options)).documents[task.position];
  }
}

export async function readSend(
  body: unknown,
  { clientId, options }: Omit<ReadTask, 'json'>,
): Promise<ReadResult> {
  const request = readSendRequest(body, options);
  const { messageId } = request;
  if (messageId === undefined) return { request, requestHash: '' };
  // A repetition names the message by the id of its first request, in upper or lower case.
  return { request, requestHash: await hashRequest(clientId, { ...(body as object), messageId }) };
}

/** The JSON of an `InboundPayload`. */
async function formatPayload(inner: Uint8Array, options: OpenOptions): Promise<Uint8Array> {
  const payload = buildInboundPayload(options.facts, await openDocuments(inner, options));
  return Buffer.from(JSON.stringify(payload));
}

/** The large bytes of a task or a result, which move between threads instead of being copied. */
export function listContents(value: ContentTask | ContentResult): readonly Uint8Array[] {
  if (value === undefined || 'damage' in value) return [];
  if (value instanceof Uint8Array) return [value];
  if ('request' in value) return value.request.attachments.map((attachment) => attachment.content);
  if ('content' in value) return [value.content];
  if ('message' in value) return [value.message];
  if (value.kind === 'read') return [value.json];
  if (value.kind === 'submitted') return [value.bytes];
  if (value.kind === 'compose') return value.input.request.attachments.map(({ content }) => content);
  return [value.inner];
}
