import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, type InputType, type ZlibOptions } from 'node:zlib';
import { FetchError } from './errors.ts';

type Decoder = (bytes: InputType, options: ZlibOptions) => Promise<Buffer>;

const withHeader = promisify<InputType, ZlibOptions, Buffer>(inflate);
const withoutHeader = promisify<InputType, ZlibOptions, Buffer>(inflateRaw);

/** With the header of zlib, as it should be (RFC 9110 §8.4.1.2), or without, as many servers send it. */
const decodeDeflate: Decoder = (bytes, options) => {
  const [first = 0, second = 0] = bytes as Uint8Array;
  const hasHeader = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
  return (hasHeader ? withHeader : withoutHeader)(bytes, options);
};

const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', promisify<InputType, ZlibOptions, Buffer>(gunzip)],
  ['x-gzip', promisify<InputType, ZlibOptions, Buffer>(gunzip)],
  ['deflate', decodeDeflate],
  ['br', promisify<InputType, ZlibOptions, Buffer>(brotliDecompress)],
]);

/** Servers use one coding, and by mistake the same twice. */
const maxCodings = 2;

/** Values that are no codings, with which some servers say that there is none. */
const noCodings: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'binary', '7bit', '8bit']);

/**
 * The codings of a Content-Encoding field that change the octets, in the order in which they were applied
 * (RFC 9110 §8.4).
 */
export function listCodings(field: string | undefined): readonly string[] {
  const codings = (field ?? '').split(',').map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => !noCodings.has(coding));
}

/**
 * Undoes codings that a server has applied unasked; a list that stayed unread for them would be a list that
 * revokes nobody. Rejects with `FETCH_CODING_UNSUPPORTED`, `FETCH_TOO_LARGE`, `FETCH_FAILED` for content that
 * is not in its coding.
 */
export async function undoCodings(
  body: Buffer,
  field: string | undefined,
  maxOutputLength: number,
): Promise<Buffer> {
  const codings = listCodings(field);
  if (codings.length > maxCodings)
    throw new FetchError('FETCH_CODING_UNSUPPORTED', `The response has ${codings.length} content codings`);
  let decoded = body;
  for (const coding of codings.toReversed()) {
    const decode = decoders.get(coding);
    if (decode === undefined)
      throw new FetchError('FETCH_CODING_UNSUPPORTED', 'The response has an unknown content coding');
    decoded = await tryDecode(decode, decoded, maxOutputLength);
  }
  return decoded;
}

async function tryDecode(decode: Decoder, bytes: Buffer, maxOutputLength: number): Promise<Buffer> {
  try {
    return await decode(bytes, { maxOutputLength });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw isTooLarge
      ? new FetchError('FETCH_TOO_LARGE', `The response exceeds ${maxOutputLength} bytes`)
      : new FetchError('FETCH_FAILED', 'The response is not in its content coding', { cause: error });
  }
}
