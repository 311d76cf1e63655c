/** The largest answer of a provider that is read: keys of 2,000 bytes each, or the groups of a person. */
const maxAnswerBytes = 256 * 1024;

/**
 * `fetch` for the OpenID library, which reads an answer of any length: this one is counted as it comes, after
 * it was decompressed. Rejects with a TypeError, as fetch does.
 */
export async function limitedFetch(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    // Leaving the loop closes the connection.
    if (length > maxAnswerBytes) throw new TypeError(`the answer has more than ${maxAnswerBytes} bytes`);
    pieces.push(piece);
  }
  const { status, headers } = response;
  return new Response(length === 0 ? null : Buffer.concat(pieces), { status, headers });
}
