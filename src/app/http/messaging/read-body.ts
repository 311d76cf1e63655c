import { errorCodes, type FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { joinInSlices } from '../../../core/index.ts';
import { largeBytes, UnparsedJson } from '../../../service/messaging/index.ts';
import type { HispFastify } from '../types.ts';

/** JSON bodies, as the routes of a scope get them. */
export interface JsonBodies {
  /**
   * Hands on a large body as it is (`UnparsedJson`), to be parsed where that does not hold up the event loop. Otherwise a
   * large body is refused.
   */
  readonly keepsLarge: boolean;
}

/**
 * Reads the JSON bodies of a scope. An empty one counts as none: many clients name a content type on every POST, also
 * where there is nothing to say (acknowledge, rotate, replay).
 */
export function acceptJson(app: HispFastify, { keepsLarge }: JsonBodies): void {
  const parseSmall = parseWith(app.getDefaultJsonParser('error', 'error'));
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const limit = request.routeOptions.bodyLimit ?? largeBytes;
    const bytes = await collectBody(request, payload, keepsLarge ? limit : Math.min(limit, largeBytes));
    if (bytes.length === 0) return undefined;
    if (bytes.length > largeBytes) return new UnparsedJson(bytes);
    return parseSmall(request, bytes);
  });
}

type JsonParser = ReturnType<HispFastify['getDefaultJsonParser']>;

function parseWith(parser: JsonParser): (request: FastifyRequest, bytes: Buffer) => Promise<unknown> {
  return (request, bytes) =>
    new Promise((resolve, reject) => {
      void parser(request, bytes.toString(), (error, body) =>
        error === null ? resolve(body) : reject(error),
      );
    });
}

// The framework would join the pieces of a large body in one go.
async function collectBody(request: FastifyRequest, payload: Readable, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length']) > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
  return joinInSlices(await collectChunks(payload, limit));
}

// The stream is left open when the body is too large, or the client would get a broken connection instead of the 413.
function collectChunks(payload: Readable, limit: number): Promise<readonly Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Buffer[]>();
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (length <= limit) return void chunks.push(chunk);
    payload.off('data', onData);
    chunks.length = 0;
    reject(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
  };
  payload.on('data', onData);
  payload.once('end', () => resolve(chunks));
  payload.once('error', (error) => reject(Object.assign(error, { statusCode: 400 })));
  return promise;
}
