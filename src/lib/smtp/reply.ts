import { maxReplyText } from './limits.ts';

/** Example: `{ code: 550, enhancedCode: '5.1.1', text: 'No such mailbox' }` (RFC 5321 §4.2, RFC 3463). */
export interface SmtpReply {
  readonly code: number;
  readonly enhancedCode?: string;
  /** One line, printable. */
  readonly text: string;
}

export function isTransientReply(reply: SmtpReply): boolean {
  return reply.code < 500;
}

/**
 * A recipient was refused because the transaction has enough of them: it is offered again at once, in the
 * next one (RFC 5321 §4.5.3.1.10). Servers of an older rule say 552, and some another code with X.5.3
 * (RFC 3463 §3.6) or in words. A 452 with another enhanced code is about the mailbox or the server's disk.
 */
export function isTooManyRecipients({ code, enhancedCode, text }: SmtpReply): boolean {
  if (code < 400 || code === 421) return false;
  if (enhancedCode !== undefined && /^[45]\.5\.3$/.test(enhancedCode)) return true;
  if (enhancedCode !== undefined && otherReasons.test(enhancedCode)) return false;
  return (code === 452 && enhancedCode === undefined) || tooManyWords.test(text);
}

// A mailbox or its quota, the size of the message, a policy (RFC 3463 §3): the words then tell of something
// else. Some servers say 5.1.3.
const otherReasons = /^(?:[45]\.2\.2|5\.(?:1\.(?!3$)\d+|2\.\d+|3\.4|7\.\d+))$/;

/**
 * A wrong guess costs one more transaction, in which the recipient is refused again, and a final refusal that
 * is told too late.
 */
const tooManyWords = new RegExp(
  [
    /\btoo many (?:(?!bad|invalid|unknown|non|rejected|failed)\w+ )?(?:recipients|rcpts?)\b/,
    /\b(?:recipients?|rcpts?)(?: count)? limit(?: of \d+)?(?: (?:has been|was|is))?(?: (?:reached|exceeded)|[.!]?$)/,
    /\b(?:recipients|rcpts|(?:recipient|rcpt) count) exceed(?!.*\b(?:quota|storage|size)\b)/,
    /\bmax(?:imum)? (?:number )?(?:of )?(?:recipients|rcpts?)\b/,
    /\bnumber (?:of )?(?:recipients|rcpts?)\b.*\b(?:exceed|reach|limit)/,
    /\b(?:exceed|reach|limit)\w*\b.*\bnumber (?:of )?(?:recipients|rcpts?)\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/**
 * Reads a peer's reply, lines joined by blanks: `550 5.1.1 No such mailbox`. Undefined for anything else.
 * The text is cut and freed of control characters, because it appears in logs and MDNs.
 */
export function readReply(response: string): SmtpReply | undefined {
  const lines = response.split(/\r?\n/).filter((line) => line !== '');
  const code = Number(/^[2-5]\d\d(?=[ -]|$)/.exec(lines[0] ?? '')?.[0]);
  if (Number.isNaN(code)) return undefined;
  const texts = lines.map((line) => line.slice(4));
  const enhancedCode = /^[245]\.\d{1,3}\.\d{1,3}(?=\s|$)/.exec(texts[0] ?? '')?.[0];
  const text = texts
    .map((line) =>
      enhancedCode !== undefined && line.startsWith(enhancedCode) ? line.slice(enhancedCode.length) : line,
    )
    .join(' ')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, maxReplyText);
  return { code, text, ...(enhancedCode === undefined ? {} : { enhancedCode }) };
}
