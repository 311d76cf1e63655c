import { viewAsBuffer, type Closable } from '../../../core/index.ts';
import { listMoved, threadScript, createTaskThreads } from '../../../core/threads/index.ts';
import { collectParts, parseEntity, type MimeEntity } from '../../../lib/mime/index.ts';
import { hasPackageType } from '../../../lib/xdm/index.ts';
import type { ComposeInput } from './pack-attachments.ts';
import {
  doContentWork,
  listContents,
  readSend,
  type ContentResult,
  type ContentTask,
  type FoundDamage,
  type ReadResult,
  type ReadTask,
} from './content-work.ts';
import { largeBytes, UnparsedJson } from '../request/unparsed-json.ts';
import { isPackage } from './received-xdm.ts';
import type { SubmittedMessage, SubmittedOptions } from '../request/read-submitted.ts';
import type { InboundDocument, OpenOptions, PackageWarning } from './inbound-document.ts';

/** A thread keeps the memory of the largest message that it has worked on until it ends. */
const threadIdleMs = 10_000;

/**
 * Does the work whose cost grows with a message's contents: small ones at once, large ones in a thread. Large
 * bytes move there: the caller must not use them again.
 */
export interface WorkerPool extends Closable {
  /** Throws MESSAGING_REQUEST_INVALID or MESSAGING_TOO_LARGE. */
  readSend(body: unknown, task: Omit<ReadTask, 'json'>): Promise<ReadResult>;
  /** Throws MESSAGING_REQUEST_INVALID. */
  readSubmitted(bytes: Uint8Array, options: SubmittedOptions): Promise<SubmittedMessage>;
  /** The plain RFC 5322 message. */
  compose(input: ComposeInput): Promise<Uint8Array>;
  /** The damage of the packages in a received message, whose memory stays with the caller. */
  findDamage(inner: Uint8Array, entity: MimeEntity): Promise<readonly PackageWarning[]>;
  /** The JSON of an `InboundPayload`. */
  formatPayload(inner: Uint8Array, options: OpenOptions): Promise<Uint8Array>;
  findDocument(
    inner: Uint8Array,
    options: OpenOptions,
    position: number,
  ): Promise<InboundDocument | undefined>;
}

export function createWorkerPool(): WorkerPool {
  const threads = createTaskThreads<ContentTask, ContentResult>(
    threadScript('content-thread', import.meta.url),
    { idleMs: threadIdleMs },
  );

  async function run<Result extends ContentResult>(task: ContentTask, isLarge: boolean): Promise<Result> {
    const work = isLarge ? threads.run(task, listMoved(listContents(task))) : doContentWork(task);
    return (await work) as Result;
  }

  return {
    async readSend(body, task) {
      if (!(body instanceof UnparsedJson)) return readSend(body, task);
      const read = await run<ReadResult>(
        { kind: 'read', json: body.bytes, ...task },
        body.bytes.length > largeBytes,
      );
      const attachments = read.request.attachments.map(asBuffer);
      return { ...read, request: { ...read.request, attachments } };
    },
    readSubmitted: (bytes, options) => run({ kind: 'submitted', bytes, options }, bytes.length > largeBytes),
    compose(input) {
      const total = input.request.attachments.reduce((sum, { content }) => sum + content.length, 0);
      return run({ kind: 'compose', input }, total > largeBytes);
    },
    async findDamage(inner, entity) {
      if (!mayHoldPackage(inner, entity)) return [];
      return (await run<FoundDamage>({ kind: 'damage', inner: new Uint8Array(inner) }, true)).damage;
    },
    formatPayload: (inner, options) => run({ kind: 'payload', inner, options }, isHeavy(inner)),
    async findDocument(inner, options, position) {
      const task: ContentTask = { kind: 'document', inner, options, position };
      const found = await run<InboundDocument | undefined>(task, isHeavy(inner));
      return found === undefined ? undefined : asBuffer(found);
    },
    close: () => threads.close(),
  };
}

// Bytes that come from a thread are no Buffers.
function asBuffer<Item extends { readonly content: Uint8Array }>(item: Item): Item & { content: Buffer } {
  return { ...item, content: viewAsBuffer(item.content) };
}

// A small package may hold large documents.
function isHeavy(inner: Uint8Array): boolean {
  return inner.length > largeBytes || mayHoldPackage(inner, parseEntity(inner));
}

/**
 * By type and name alone if the message is large. Any document may come as octets: of a small one, decoding
 * says at once that it is no package, and going to a thread would cost more.
 */
function mayHoldPackage({ length }: Uint8Array, entity: MimeEntity): boolean {
  return collectParts(entity).some((part) => {
    if (!hasPackageType(part.mediaType, part.fileName)) return false;
    return length > largeBytes || isPackage({ ...part, content: part.content() });
  });
}
