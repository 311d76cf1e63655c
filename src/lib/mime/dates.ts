const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A date as RFC 5322 §3.3 writes it, in UTC: `Sat, 21 Nov 2026 10:36:55 +0000`. */
export function formatDate(at: Date): string {
  const day = String(at.getUTCDate()).padStart(2, '0');
  const time = at.toISOString().slice(11, 19);
  return `${days[at.getUTCDay()]}, ${day} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()} ${time} +0000`;
}

/** Reads a Date value, leniently; undefined if it is none. */
export function readDate(headerValue: string): Date | undefined {
  const at = new Date(headerValue.replace(/\([^()]{0,100}\)/g, '').trim());
  return Number.isNaN(at.getTime()) ? undefined : at;
}
