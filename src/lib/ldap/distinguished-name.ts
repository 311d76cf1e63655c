// The few names of the responder: its base, and one entry for each mail value beneath it.

/** A name for comparison: lower case, no blanks around separators (RFC 4514 §2.1, RFC 4518). */
export function nameKey(dn: string): string {
  return dn
    .trim()
    .toLowerCase()
    .replaceAll(/(?<!\s)\s*(?<!\\)([,=])\s*/g, '$1');
}

/** Example: `mail=bob@direct.example.org,o=openhisp`. */
export function entryName(mail: string, base: string): string {
  return `mail=${escapeValue(mail)},${base}`;
}

/** The mail value of an entry's name, or undefined for a name of another form. */
export function findMailOfName(dn: string, base: string): string | undefined {
  const key = nameKey(dn);
  const suffix = `,${nameKey(base)}`;
  if (!key.startsWith('mail=') || !key.endsWith(suffix)) return undefined;
  const value = key.slice('mail='.length, -suffix.length);
  return /(?<!\\),/.test(value) ? undefined : unescapeValue(value);
}

/** RFC 4514 §2.4. */
function escapeValue(value: string): string {
  return value.replaceAll(/[,+"\\<>;=]|^[ #]| $/g, '\\$&').replaceAll('\0', '\\00');
}

function unescapeValue(value: string): string {
  return value.replaceAll(/\\([0-9a-f]{2}|.)/g, (_, escaped: string) =>
    escaped.length === 2 ? String.fromCharCode(Number.parseInt(escaped, 16)) : escaped,
  );
}
