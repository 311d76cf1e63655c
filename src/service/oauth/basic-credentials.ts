import { decodeBase64Strict } from '../../core/index.ts';

/** One reading of an `Authorization: Basic` header. */
export interface BasicCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Credentials are far shorter; a longer header is not looked at. */
const longestHeader = 2048;

/**
 * Reads HTTP Basic credentials, split at the first colon. RFC 6749 §2.3.1 wants id and secret form-encoded
 * before they are joined, which many clients leave out: so the result is the decoded reading, then the raw
 * one where it differs. An empty list means that the header is not Basic credentials at all.
 */
export function readBasicCredentials(header: string): readonly BasicCredentials[] {
  const match = header.length > longestHeader ? null : /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header);
  const bytes = match?.[1] === undefined ? undefined : decodeBase64Strict(padded(match[1]));
  const text = bytes === undefined ? undefined : decodeUtf8(bytes);
  const colon = text?.indexOf(':') ?? -1;
  if (text === undefined || colon < 1) return [];
  const raw = { clientId: text.slice(0, colon), clientSecret: text.slice(colon + 1) };
  const decoded = formDecode(raw);
  if (decoded === undefined) return [raw];
  return decoded.clientId === raw.clientId && decoded.clientSecret === raw.clientSecret
    ? [raw]
    : [decoded, raw];
}

// RFC 7617 wants padding; some clients leave it out.
function padded(text: string): string {
  const bare = text.replace(/={1,2}$/, '');
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, '=');
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function formDecode({ clientId, clientSecret }: BasicCredentials): BasicCredentials | undefined {
  try {
    return { clientId: formDecodeText(clientId), clientSecret: formDecodeText(clientSecret) };
  } catch {
    return undefined;
  }
}

function formDecodeText(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
