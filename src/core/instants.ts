// RFC 3339 §5.6: a time of day without its zone is that of nobody in particular.
const form = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * The moment of a time with its zone: `2026-12-20T08:00:00Z`, `2026-12-20T08:00:00.5-06:00` (RFC 3339 §5.6).
 * Undefined for everything else, such as February 30. A leap second is the next one.
 */
export function readInstant(text: string): Date | undefined {
  const [found, day, minute, second = '', part = '', sign, hours = '00', minutes = '00'] =
    form.exec(text) ?? [];
  if (found === undefined || Number(second) > 60 || Number(hours) > 23 || Number(minutes) > 59)
    return undefined;
  // A date takes February 30 for March 2, so that what it has read is compared.
  const written = new Date(`${day}T${minute}:00Z`);
  if (Number.isNaN(written.getTime()) || !written.toISOString().startsWith(`${day}T${minute}`))
    return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return new Date(written.getTime() + Math.floor(Number(`${second}${part}`) * 1000) - offsetMs);
}
