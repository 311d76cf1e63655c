import { viewAsBuffer } from '../../core/index.ts';
import { inspectBytes } from './inspect-bytes.ts';

const LF = 0x0a;
const CR = 0x0d;

/**
 * The same bytes with every bare LF and bare CR as CRLF (RFC 8551 §3.1.1). Returns the very same memory if
 * nothing needs to change, which is the usual case.
 */
export function canonicalize(bytes: Uint8Array): Buffer {
  return addLineEnds(viewAsBuffer(bytes), inspectBytes(bytes).bareLineEnds);
}

/** The same for a caller that has counted the bare line ends. */
export function addLineEnds(source: Buffer, bareLineEnds: number): Buffer {
  if (bareLineEnds === 0) return source;
  const target = Buffer.allocUnsafe(source.length + bareLineEnds);
  let to = 0;
  for (let index = 0; index < source.length; index++) {
    const byte = source[index] as number;
    if (byte === LF && (index === 0 || source[index - 1] !== CR)) target[to++] = CR;
    target[to++] = byte;
    if (byte === CR && source[index + 1] !== LF) target[to++] = LF;
  }
  return target;
}

/**
 * The lines of a body that ends them in CR or CR CR LF; the same memory if there are none such. Only for
 * a body that is not read otherwise: in another a bare CR may be content.
 */
export function mendLineEnds(body: Buffer): Buffer {
  const { bareLineEnds } = inspectBytes(body);
  if (bareLineEnds === 0) return body;
  const text = body.toString('latin1');
  if (!text.includes('\r')) return body;
  const lines = text.replaceAll(/\r+\n?|\n/g, (run) => '\r\n'.repeat(run.endsWith('\n') ? 1 : run.length));
  return Buffer.from(lines, 'latin1');
}
