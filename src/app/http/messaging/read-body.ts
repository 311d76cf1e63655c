import { errorCodes, type FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { CodedError, createByteCollector, createTurns } from '../../../core/index.ts';
import { largeBytes, UnparsedJson } from '../../../service/messaging/index.ts';
import { createJsonParser } from '../json-parser.ts';
import type { HispFastify } from '../types.ts';

/**
 * The work for a message of this size takes about a millisecond; of 64 that end together each one gets a turn
 * of the event loop. A route that takes bodies unparsed parses larger ones itself, without a string of their
 * length.
 */
const ownTurnBytes = 32 * 1024;
const takeTurn = createTurns();

/** JSON bodies, as the routes of a scope get them. */
export interface JsonBodies {
  /**
   * Passes on a large body as it is (`UnparsedJson`), to be parsed where that does not hold up the event
   * loop. Otherwise a large body is refused.
   */
  readonly keepsLarge: boolean;
}

/**
 * Reads the JSON bodies of a scope. An empty one of any type counts as none: many clients name a content type
 * on every POST, also where there is nothing to say (acknowledge, rotate, replay), and for some it is that of
 * a form.
 */
export function acceptJson(app: HispFastify, { keepsLarge }: JsonBodies): void {
  const parseSmall = createJsonParser(app);
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const { 'content-encoding': encoding = 'identity' } = request.headers;
    // RFC 9110 §8.4: compressed JSON is no JSON.
    if (encoding.toLowerCase() !== 'identity') throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE();
    const limit = request.routeOptions.bodyLimit ?? largeBytes;
    const bytes = await collectBody(request, payload, keepsLarge ? limit : Math.min(limit, largeBytes));
    if (bytes.length === 0) return undefined;
    if (bytes.length <= largeBytes && bytes.length > ownTurnBytes) await takeTurn();
    if (keepsLarge && bytes.length > ownTurnBytes) return new UnparsedJson(bytes);
    return parseSmall(request, bytes);
  });
  app.addContentTypeParser('*', async ({ headers }: FastifyRequest) => {
    if (headers['content-length'] !== '0') throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE();
  });
}

async function collectBody(request: FastifyRequest, payload: Readable, limit: number): Promise<Buffer> {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
  return collectBytes(payload, length, limit);
}

// The stream is left open when the body is too large, or the client would get a broken connection instead of
// the 413.
function collectBytes(payload: Readable, expected: number, limit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const collector = createByteCollector(expected, limit);
  const onData = (chunk: Buffer): void => {
    if (collector.length + chunk.length <= limit) return collector.add(chunk);
    payload.off('data', onData);
    collector.drop();
    reject(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
  };
  payload.on('data', onData);
  payload.once('end', () => resolve(collector.take()));
  payload.once('error', (error) => {
    collector.drop();
    reject(error instanceof CodedError ? error : Object.assign(error, { statusCode: 400 }));
  });
  return promise;
}
