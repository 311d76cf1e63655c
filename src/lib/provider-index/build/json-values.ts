/** UTF-8 text as between the quotes of a JSON string. */
export function escapeJson(bytes: Uint8Array): Uint8Array {
  const text = JSON.stringify(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  return Buffer.from(text.slice(1, -1));
}
