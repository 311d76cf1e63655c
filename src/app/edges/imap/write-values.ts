/** A text as IMAP writes it: quoted if it can be, else as a literal. */
export function writeString(text: string): string {
  if (/^[\x20-\x7e]{0,1000}$/.test(text)) return `"${text.replace(/["\\]/g, '\\$&')}"`;
  const octets = Buffer.from(text.replaceAll('\0', ''));
  return `{${octets.length}}\r\n${octets.toString('latin1')}`;
}

export const writeNil = (text: string | undefined): string =>
  text === undefined ? 'NIL' : writeString(text);

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `"27-Nov-2026 05:10:00 +0000"` */
export function writeDateTime(at: Date): string {
  const day = String(at.getUTCDate()).padStart(2, ' ');
  const time = at.toISOString().slice(11, 19);
  return `"${day}-${months[at.getUTCMonth()]}-${at.getUTCFullYear()} ${time} +0000"`;
}

/** The start of `1-Feb-2026` in UTC, in milliseconds; undefined if it is no date. */
export function readDay(text: string): number | undefined {
  const [, day = '', month = '', year = ''] = /^(\d{1,2})-([a-z]{3})-(\d{4})$/i.exec(text) ?? [];
  const index = months.findIndex((name) => name.toLowerCase() === month.toLowerCase());
  if (index === -1 || Number(day) < 1 || Number(day) > 31) return undefined;
  return Date.UTC(Number(year), index, Number(day));
}
