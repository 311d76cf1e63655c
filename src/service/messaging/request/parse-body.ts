import { randomUUID } from 'node:crypto';
import {
  decodeBase64Bytes,
  describeBadJson,
  findJsonFault,
  findStringEnd,
  viewAsBuffer,
  type FieldProblem,
} from '../../../core/index.ts';
import { MessagingError } from '../errors.ts';
import { isRecord } from '../problems.ts';

/**
 * The content of an attachment, decoded from the bytes of the body. As a string it would be held three times,
 * each time in memory that the system has to provide and to clear: for 100 kB more work than decoding it.
 */
export class Base64Content {
  /** As in the body: the standard alphabet and nothing else. */
  readonly text: Uint8Array;
  readonly content: Buffer;

  constructor(text: Uint8Array, content: Buffer) {
    this.text = text;
    this.content = content;
  }
}

/** Shorter strings are cheap: they fit into V8's young generation. */
const longTextBytes = 16 * 1024;

const quote = 0x22;

/**
 * The value of a JSON text, in which long contents of attachments are a `Base64Content`. Throws
 * MESSAGING_REQUEST_INVALID for what is not JSON, holds too much, or is not the same for every reader.
 */
export function parseBody(json: Uint8Array): unknown {
  const bytes = viewAsBuffer(json);
  const fault = findJsonFault(bytes);
  if (fault !== undefined) throw invalid(fault);
  return parseWithContents(bytes) ?? parseJson(bytes);
}

function invalid(problem: FieldProblem): MessagingError {
  return new MessagingError('MESSAGING_REQUEST_INVALID', `${problem.field} ${problem.reason}`, {
    problems: [problem],
  });
}

function parseJson(json: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(json));
  } catch (error) {
    throw invalid(describeBadJson(error));
  }
}

/**
 * Parses the body with names in place of its long base64 strings, and replaces the names by the contents.
 * Undefined if there is no such string, one is anywhere else, or the body is not JSON: the whole body then
 * tells where.
 */
function parseWithContents(json: Buffer): unknown {
  const { short, contents } = takeOut(json);
  if (contents.size === 0) return undefined;
  let body: unknown;
  try {
    body = parseJson(short);
  } catch {
    return undefined;
  }
  return putIn(body, contents) ? body : undefined;
}

/**
 * In JSON a quote that no backslash escapes begins or ends a string. A text that is not JSON may be cut
 * elsewhere, but what is put in place of a string makes no JSON of it.
 */
function takeOut(json: Buffer): { short: Buffer; contents: Map<string, Base64Content> } {
  const pieces: Uint8Array[] = [];
  const contents = new Map<string, Base64Content>();
  // Nobody can know it in advance and name a content that is not theirs to place.
  const name = randomUUID();
  let kept = 0;
  for (let open = json.indexOf(quote); open >= 0;) {
    const close = findStringEnd(json, open + 1);
    if (close - open > longTextBytes) {
      const text = json.subarray(open + 1, close);
      const content = decodeBase64Bytes(text);
      if (content !== undefined) {
        const key = `${name}:${contents.size}`;
        pieces.push(json.subarray(kept, open + 1), Buffer.from(key, 'latin1'));
        contents.set(key, new Base64Content(text, content));
        kept = close;
      }
    }
    open = json.indexOf(quote, close + 1);
  }
  return { short: Buffer.concat([...pieces, json.subarray(kept)]), contents };
}

/** False if not all of them have found a place. */
function putIn(body: unknown, contents: ReadonlyMap<string, Base64Content>): boolean {
  const list: unknown = isRecord(body) ? body['emailAttachmentList'] : undefined;
  if (!Array.isArray(list)) return false;
  let placed = 0;
  for (const entry of list as readonly unknown[]) {
    const key = isRecord(entry) ? entry['attachmentContent'] : undefined;
    const content = typeof key === 'string' ? contents.get(key) : undefined;
    if (content === undefined) continue;
    (entry as Record<string, unknown>)['attachmentContent'] = content;
    placed++;
  }
  return placed === contents.size;
}
