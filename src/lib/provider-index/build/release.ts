/**
 * Gives the memory of arrays back at once. A build makes hundreds of megabytes of arrays and hardly any
 * objects, so that a collection of garbage, which would give it back, comes late. No view of their buffers
 * can be read afterwards.
 */
export function release(...arrays: readonly (Uint8Array | Uint32Array | Float64Array)[]): void {
  for (const { buffer } of arrays) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * The same array with room for so many elements. `array` cannot be read afterwards, and must be all of its
 * buffer.
 */
export function resized<Values extends Uint8Array | Uint32Array | Float64Array>(
  array: Values,
  length: number,
): Values {
  const buffer = (array.buffer as ArrayBuffer).transfer(length * array.BYTES_PER_ELEMENT);
  return new (array.constructor as new (buffer: ArrayBuffer) => Values)(buffer);
}
